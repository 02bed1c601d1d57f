"""Results that are not text."""

from agents.basic_agent import BasicAgent


class ResultsAgent(BasicAgent):
    def __init__(self):
        super().__init__("Results", {"name": "Results", "description": "", "parameters": {"type": "object", "properties": {}}})

    def perform(self, **kwargs):
        return {"none": None, "true": True, "number": 7, "float": 1.5, "list": [1, None], "object": {"a": None}}[kwargs["kind"]]
