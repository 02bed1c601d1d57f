"""One instance answers every call of a worker."""

from agents.basic_agent import BasicAgent


class StateAgent(BasicAgent):
    def __init__(self):
        super().__init__("State", {"name": "State", "description": "", "parameters": {"type": "object", "properties": {}}})

    def perform(self, **kwargs):
        self.count = getattr(self, "count", 0) + 1
        return str(self.count)
