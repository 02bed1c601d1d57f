"""Errors are values, and the next call works."""

from agents.basic_agent import BasicAgent


class RaisesAgent(BasicAgent):
    def __init__(self):
        super().__init__("Raises", {"name": "Raises", "description": "", "parameters": {"type": "object", "properties": {}}})

    def perform(self, **kwargs):
        if kwargs.get("fine"):
            return "fine"
        raise ValueError("no: " + str(kwargs.get("why", "")))
