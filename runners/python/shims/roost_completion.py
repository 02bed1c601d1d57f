"""Model calls made by agents, answered by the host's model.

Older kernels returned the raw completion from `call_copilot`, newer ones a `(completion, model)` pair. Agents of
both kinds exist, so what is returned here is usable as either.
"""

import roost_host


class Completion(dict):
    """A completion dict that also unpacks and indexes as the pair `(completion, model)`."""

    @property
    def model(self):
        """The model that answered; empty when it did not say."""
        return self.get("model") or ""

    def __iter__(self):
        # Iteration serves the pair form; keys(), items(), `in`, get() and json.dumps serve the dict form.
        return iter((dict(self.items()), self.model))

    def __getitem__(self, key):
        if type(key) is int and key in (0, 1, -1, -2):
            return tuple(self)[key]
        return super().__getitem__(key)


def complete(messages, **options):
    """Ask the host's model. Options that are None are left out. Returns the completion as a dict."""
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    params = {"messages": messages}
    params.update((name, value) for name, value in options.items() if value is not None)
    completion = roost_host.call("model.complete", params)
    if not isinstance(completion, dict):
        raise roost_host.HostCallFailed("protocol_violation", "model.complete: the host's answer is not a completion")
    return completion


def call_copilot(messages, tools=None, model=None):
    """One model call, as the kernels offer it to agents."""
    return Completion(complete(messages, tools=tools, model=model))


def first_text(completion):
    """The text of the first choice; empty when the model chose a tool instead of words."""
    try:
        content = completion["choices"][0]["message"].get("content")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise roost_host.HostCallFailed(
            "protocol_violation", "model.complete: the model's answer has no choice", "ask again, or use another model"
        ) from None
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if isinstance(part, dict))
    return content or ""
