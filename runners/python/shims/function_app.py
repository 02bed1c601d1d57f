"""The module name of the cloud tier's kernel: `call_copilot`, and an `app` whose decorators do nothing."""

from roost_completion import call_copilot

__all__ = ["app", "call_copilot"]


class _App:
    """Accepts every decorator of a function app. Agents that register routes still load; the host serves none."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _leave_unchanged


def _leave_unchanged(*arguments, **options):
    """Works as `@app.route(...)` and as a bare `@app.route`."""
    if len(arguments) == 1 and callable(arguments[0]) and not options:
        return arguments[0]
    return lambda function: function


app = _App()
