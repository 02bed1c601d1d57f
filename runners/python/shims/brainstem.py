"""The module name under which agents look for the kernel's `call_copilot`."""

import sys

from roost_completion import call_copilot

__all__ = ["call_copilot", "install_main_alias"]


def install_main_alias():
    """Offer `call_copilot` on `__main__` too: there the kernel itself is the main program."""
    main = sys.modules.get("__main__")
    if main is not None and not hasattr(main, "call_copilot"):
        main.call_copilot = call_copilot
