"""Weather: a haiku about the weather in a city. An example of a complete agent in one file.

It needs no network: the weather is made up from the city's name, so the same city always has the same weather.
"""

import json
import zlib

from agents.basic_agent import BasicAgent

__manifest__ = {
    "schema": "rapp-agent/1.0",
    "name": "@roost/weather",
    "version": "1.0.0",
    "display_name": "Weather Haiku",
    "description": "Writes a haiku about the (made-up) weather in a city.",
    "author": "Roost",
    "tags": ["example", "weather", "poetry"],
    "category": "general",
    "quality_tier": "community",
    "requires_env": [],
    "dependencies": ["@rapp/basic_agent"],
    "example_call": {"city": "Lisbon"},
}

# Condition, degrees Celsius at least and at most, haiku.
SKIES = [
    ("sunny", 18, 34, "Warm light on the roofs\nA cat has found the best stone\nNoon forgets to move"),
    ("rainy", 6, 19, "Rain taps on the glass\nUmbrellas bloom in the street\nThe gutters are glad"),
    ("snowy", -12, 1, "Snow over the town\nEvery footstep writes a line\nThe wind reads it all"),
    ("windy", 4, 22, "A hat leaves its head\nThe river wrinkles and runs\nDoors argue all night"),
    ("foggy", 1, 14, "The tower has gone\nOnly its bell still knows where\nFog keeps what it finds"),
]


class WeatherAgent(BasicAgent):
    """One city in, one haiku out, and signals for whichever agent comes next."""

    def __init__(self):
        self.name = "Weather"
        self.metadata = {
            "name": self.name,
            "description": "Tells the weather in a city as a haiku.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string", "description": "The city, for example Lisbon."}},
                "required": [],
            },
        }
        super().__init__(name=self.name, metadata=self.metadata)

    def perform(self, **kwargs):
        """The weather as JSON; `data_slush` is what a following agent finds in `self.context.slush`."""
        # A city named by the agent before this one is used when the call names none.
        city = str(kwargs.get("city") or self.get_signal("slush.city") or "Nowhere").strip()
        # A checksum, because Python's own hash() of a text differs from run to run.
        chance = zlib.crc32(city.casefold().encode())
        condition, coldest, warmest, haiku = SKIES[chance % len(SKIES)]
        celsius = coldest + chance // len(SKIES) % (warmest - coldest + 1)
        return json.dumps(
            {
                "status": "success",
                "city": city,
                "weather": f"{condition}, {celsius} °C",
                "haiku": haiku,
                "data_slush": {"city": city, "mood": condition, "temp_c": celsius},
            },
            ensure_ascii=False,
        )


if __name__ == "__main__":
    print(WeatherAgent().perform(city="Lisbon"))
