"""What an agent knows before it starts, under both sets of names."""

import json

from agents.basic_agent import BasicAgent


class KnowsAgent(BasicAgent):
    def __init__(self):
        super().__init__("Knows", {"name": "Knows", "description": "", "parameters": {"type": "object", "properties": {}}})

    def perform(self, **kwargs):
        if kwargs.get("signal"):
            return json.dumps(self.get_signal(kwargs["signal"]))
        return json.dumps(sorted(self.context))
