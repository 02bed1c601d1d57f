"""Signals for the next agent, in text and as an object."""

import json

from agents.basic_agent import BasicAgent


class SlushAgent(BasicAgent):
    def __init__(self):
        super().__init__("Slush", {"name": "Slush", "description": "", "parameters": {"type": "object", "properties": {}}})

    def perform(self, **kwargs):
        slush = {"n": 1, "seen": dict(self.context.slush)}
        result = {"said": "x", "data_slush": slush}
        if kwargs.get("form") == "object":
            return result
        if kwargs.get("form") == "wrong":
            return json.dumps({"data_slush": "text"})
        return json.dumps(result)
