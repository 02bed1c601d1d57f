"""Results up to the limit arrive whole, larger ones are refused."""

from agents.basic_agent import BasicAgent


class LargeAgent(BasicAgent):
    def __init__(self):
        super().__init__("Large", {"name": "Large", "description": "", "parameters": {"type": "object", "properties": {}}})

    def perform(self, **kwargs):
        return kwargs["unit"] * int(kwargs["count"])
