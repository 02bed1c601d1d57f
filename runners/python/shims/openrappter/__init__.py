"""The address under which agents written for openrappter look for the base class."""

from basic_agent import BasicAgent

__all__ = ["BasicAgent"]
