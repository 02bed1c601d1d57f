"""`BasicAgent`, the class every RAPP agent derives from.

The same class object stands behind `basic_agent`, `agents.basic_agent` and `openrappter.agents.basic_agent`.
The worker calls `perform` directly and leaves the context and the last output in the instance, where they are
parsed only when somebody looks.
"""

import json
import time

from roost_awaiting import finish
from roost_context import Context, LazyContext

_ACCEPTS_ANY_KEYWORD = 0x08  # CO_VARKEYWORDS of a code object


class _LastDataSlush:
    """Descriptor: the `data_slush` of the last output. Without `__set__`, so that an agent may assign its own."""

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        output = instance.__dict__.get("_last_output")
        if isinstance(output, (str, bytes)):
            try:
                output = json.loads(output)
            except (ValueError, RecursionError):
                return None
        slush = output.get("data_slush") if isinstance(output, dict) else None
        return slush if isinstance(slush, dict) else None


class BasicAgent:
    """An agent: a `name`, a `metadata` dict for the model, and `perform(**kwargs) -> str`."""

    context = LazyContext()
    last_data_slush = _LastDataSlush()

    def __init__(self, name=None, metadata=None):
        if name is not None:
            self.name = name
        elif not hasattr(self, "name"):
            self.name = "BasicAgent"
        if metadata is not None:
            self.metadata = metadata
        elif not hasattr(self, "metadata"):
            self.metadata = {
                "name": self.name,
                "description": "An agent that does nothing yet.",
                "parameters": {"type": "object", "properties": {}, "required": []},
            }

    def perform(self, **kwargs):
        """What the agent does. Override this."""
        return f"{self.name} does nothing yet: its class has no perform() of its own."

    def system_context(self):
        """Text to add to the system prompt on every turn, or None."""
        return None

    def to_tool(self):
        """The agent as a function the model can call, in the form of the OpenAI API."""
        metadata = self.metadata if isinstance(self.metadata, dict) else {}
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": metadata.get("description", ""),
                "parameters": metadata.get("parameters", {"type": "object", "properties": {}}),
            },
        }

    def execute(self, **kwargs):
        """Run `perform` with a fresh context: the entry point for agents that call each other.

        `upstream_slush=other.last_data_slush` hands the signals of another agent on.
        """
        upstream_slush = kwargs.pop("upstream_slush", None)
        # Built anew for each call, else the slush of an earlier chain would leak into this one.
        context = Context.from_text(self.__dict__.get("_context_text"))
        self.__dict__["context"] = context
        if isinstance(upstream_slush, dict):
            context.merge_slush(upstream_slush)
        if _accepts_keyword(self.perform, "_context"):
            kwargs["_context"] = context
        result = finish(self.perform(**kwargs))
        self.__dict__["_last_output"] = result
        return result

    def get_signal(self, key, default=None):
        """One value of the context by its dotted path, for example `temporal.time_of_day`."""
        value = self.context
        for part in key.split("."):
            if not isinstance(value, dict) or part not in value:
                return default
            value = value[part]
        return value

    def slush_out(self, signals=None, *, agent_name=None, **more):
        """A dict to return as `data_slush`: who says it, when, how sure it was, and the signals."""
        slush = {"source_agent": agent_name or self.name, "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S")}
        orientation = self.get_signal("orientation")
        if isinstance(orientation, dict) and orientation:
            slush["orientation"] = {key: orientation[key] for key in ("confidence", "approach") if key in orientation}
        if signals:
            slush["signals"] = signals
        slush.update(more)
        return slush


def _accepts_keyword(function, keyword):
    """False only when calling `function` with `keyword` is certain to be a TypeError."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is None or code.co_flags & _ACCEPTS_ANY_KEYWORD:
        return True
    return keyword in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
