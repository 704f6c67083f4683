"""Servers that are objects of the Python SDK (1.x and 2.x) or of fastmcp (2 to 4), in process.

They are told apart by what they have, and driven by what their own packages offer: the server's
``run``, between the streams that their ``stdio_server`` makes of two text files. Here these files
are in memory. Nothing of those packages is imported unless such an object is given, and then it is
the package that the object itself is from.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from importlib import import_module
from typing import Any

from ..jsonrpc.codec import encode
from .inprocess import Serve, ServerEnd

# Where the high-level servers keep the low-level one: SDK 1.x and fastmcp, then SDK 2.x.
_LOW_LEVEL = ("_mcp_server", "_lowlevel_server")

_OPTIONS = "create_initialization_options"


def is_server_object(target: object) -> bool:
    """Whether this is a server of the Python SDK or of fastmcp."""
    low = _low_level_of(target)
    return all(callable(getattr(low, name, None)) for name in ("run", _OPTIONS))


def serve_object(server: object) -> Serve:
    """Return what serves one connection with a server object."""

    async def serve(end: ServerEnd) -> None:
        low = _low_level_of(server)
        stdio = import_module(f"{_package_of(low)}.server.stdio")
        async with AsyncExitStack() as stack:
            lifespan = getattr(server, "_lifespan_manager", None)
            if lifespan is not None:  # fastmcp's own, which its low-level server does not enter
                await stack.enter_async_context(lifespan())
            read, write = await stack.enter_async_context(
                stdio.stdio_server(_Lines(end), _Writer(end))
            )
            await low.run(read, write, low.create_initialization_options())

    serve.__name__ = str(getattr(server, "name", None) or type(server).__name__)
    return serve


def _low_level_of(server: object) -> Any:
    for name in _LOW_LEVEL:
        low = getattr(server, name, None)
        if low is not None:
            return low
    return server


def _package_of(low: object) -> str:
    """Return the package of the low-level server; fastmcp's is a subclass of the SDK's."""
    makers = [each for each in type(low).__mro__ if _OPTIONS in vars(each)]
    return makers[-1].__module__.partition(".")[0]


class _Lines:
    """The client's messages as an asynchronous text file."""

    def __init__(self, end: ServerEnd) -> None:
        self._end = end

    async def __aiter__(self) -> AsyncIterator[str]:
        async for message in self._end:
            yield encode(message).decode()


class _Writer:
    """An asynchronous text file whose lines are messages to the client."""

    def __init__(self, end: ServerEnd) -> None:
        self._end = end

    async def write(self, text: str) -> int:
        """Take one line."""
        self._end.send(json.loads(text))
        return len(text)

    async def flush(self) -> None:
        """Do nothing: every line is sent at once."""
