"""mcpclient for programs without async: the functions and classes that wait, with the same methods.

::

    from mcpclient import sync

    with sync.connect("https://example.com/mcp") as client:
        print(client.call_tool("echo", {"message": "hi"}).text)

Every call runs in one event loop, in one background thread of the process. The classes are made
from the asynchronous ones, so both have the same methods. Their types are in ``__init__.pyi``,
which ``python -m tests.tools.sync_stub`` writes.
"""

from __future__ import annotations

from importlib import import_module

# The public names of each module, which is imported when one of them is first used.
_MODULES = {
    ".client": "Client Subscription call connect list_tools",
    ".handlers": "ask_unless_read_only",
    ".login": "finish_auth log_in log_out",
    ".manager": "EventStream Manager Server connect_all",
    ".toolbox": "AgentTool Toolbox",
}
_EXPORTS = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted(_EXPORTS)  # noqa: PLE0605 - a list, computed


def __getattr__(name: str) -> object:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_EXPORTS[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
