"""The base class at the address that most agents use."""

from basic_agent import BasicAgent

__all__ = ["BasicAgent"]
