"""Two agents of one file."""

from agents.basic_agent import BasicAgent


class FirstAgent(BasicAgent):
    def __init__(self):
        super().__init__("First", {"name": "First", "description": "", "parameters": {"type": "object", "properties": {}}})

    def perform(self, **kwargs):
        return "first"


class SecondAgent(BasicAgent):
    def __init__(self):
        super().__init__("Second", {"name": "Second", "description": "", "parameters": {"type": "object", "properties": {}}})

    def perform(self, **kwargs):
        return FirstAgent().perform() + " then second"
