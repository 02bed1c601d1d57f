"""Text of every kind comes back as it went in."""

from agents.basic_agent import BasicAgent


class UnicodeAgent(BasicAgent):
    def __init__(self):
        super().__init__("Unicode", {"name": "Unicode", "description": "", "parameters": {"type": "object", "properties": {}}})

    def perform(self, **kwargs):
        return str(kwargs["text"])
