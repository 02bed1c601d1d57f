"""The base class at the address that the RAPP spec uses in its examples."""

from basic_agent import BasicAgent

__all__ = ["BasicAgent"]
