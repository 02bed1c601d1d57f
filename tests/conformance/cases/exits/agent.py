"""Ends its own process; the next call gets a new one."""

import sys

from agents.basic_agent import BasicAgent


class ExitsAgent(BasicAgent):
    def __init__(self):
        super().__init__("Exits", {"name": "Exits", "description": "", "parameters": {"type": "object", "properties": {}}})

    def perform(self, **kwargs):
        if kwargs.get("fine"):
            return "fine"
        sys.exit(3)
