"""Nothing of the host's own environment is seen."""

import json
import os

from agents.basic_agent import BasicAgent


class EnvironmentAgent(BasicAgent):
    def __init__(self):
        super().__init__("Environment", {"name": "Environment", "description": "", "parameters": {"type": "object", "properties": {}}})

    def perform(self, **kwargs):
        return json.dumps({"secret": os.environ.get("HOST_SECRET"), "lang": os.environ.get("LANG"), "own": "ROOST_HOME" in os.environ})
