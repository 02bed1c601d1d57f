"""Awaited work, one after the other and side by side."""

import asyncio

from agents.basic_agent import BasicAgent


async def later(value):
    await asyncio.sleep(0)
    return value


class WaitsAgent(BasicAgent):
    def __init__(self):
        super().__init__("Waits", {"name": "Waits", "description": "", "parameters": {"type": "object", "properties": {}}})

    async def perform(self, **kwargs):
        first, second = await asyncio.gather(later("a"), later("b"))
        return first + second
