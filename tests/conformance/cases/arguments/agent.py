"""Arguments that are missing where the schema requires them."""

from agents.basic_agent import BasicAgent


class StrictAgent(BasicAgent):
    def __init__(self):
        super().__init__("Strict", {"name": "Strict", "description": "", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}})

    def perform(self, **kwargs):
        return str(kwargs["city"])
