"""The context an agent finds in `self.context` when `perform` starts.

The host sends it as JSON text. It is parsed on first use only, because most agents never look at it.
Both vocabularies work: the layer names of the RAPP spec and the older names of openrappter.
"""

import json

# Spec name, older name, and what an absent layer looks like.
_LAYERS = (
    ("temporal", None, dict),
    ("memory", "memory_echoes", list),
    ("query", "query_signals", dict),
    ("behavioral", None, dict),
    ("slush", "upstream_slush", dict),
)


class Context(dict):
    """A dict whose keys can also be read and set as attributes, at every depth."""

    __slots__ = ()

    @classmethod
    def from_text(cls, text):
        """The context in `text` (JSON), or an empty one for None. Every layer is present afterwards."""
        context = json.loads(text, object_hook=cls) if text else cls()
        if not isinstance(context, cls):
            raise ValueError("the context sent by the host is not a JSON object")
        context._complete_layers()
        return context

    def _complete_layers(self):
        for name, older_name, empty in _LAYERS:
            layer = self.get(name)
            if layer is None and older_name is not None:
                layer = self.get(older_name)
            if layer is None:
                layer = Context() if empty is dict else empty()
            self[name] = layer
            if older_name is not None:
                # The same object under both names: what is added to one is seen in the other.
                self[older_name] = layer

    def merge_slush(self, signals):
        """Add the signals of the agent before this one to the slush layer."""
        if not isinstance(self.get("slush"), dict):
            self["slush"] = self["upstream_slush"] = Context()
        self["slush"].update(signals)

    def __getattr__(self, name):
        try:
            value = self[name]
        except KeyError:
            raise AttributeError(f"the context has no {name!r}; it has: {', '.join(map(str, self)) or 'nothing'}") from None
        if type(value) is dict:
            # A plain dict that was assigned later gets attribute access on first use, like the parsed ones.
            value = self[name] = Context(value)
        return value

    def __setattr__(self, name, value):
        self[name] = value

    def __delattr__(self, name):
        try:
            del self[name]
        except KeyError:
            raise AttributeError(name) from None


class LazyContext:
    """Descriptor for `BasicAgent.context`: parses `_context_text` once per call.

    It has no `__set__` on purpose: an agent that assigns `self.context` keeps what it assigned, and later reads
    find the value in the instance without coming here.
    """

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        state = instance.__dict__
        # setdefault: when two threads get here at once, both must end up with the same object.
        return state.setdefault("context", Context.from_text(state.get("_context_text")))
