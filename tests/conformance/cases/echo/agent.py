"""Repeats its arguments."""

import json

from agents.basic_agent import BasicAgent


class EchoAgent(BasicAgent):
    def __init__(self):
        super().__init__("Echo", {"name": "Echo", "description": "", "parameters": {"type": "object", "properties": {}}})

    def perform(self, **kwargs):
        return json.dumps(kwargs)
