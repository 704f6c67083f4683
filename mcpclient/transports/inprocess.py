"""In process: a server that is a coroutine, or an SDK's server object, of the same program.

Every message is encoded as JSON and decoded again. So no object is shared by accident, and values
that JSON cannot carry are refused as on every other transport.

Server objects of the Python SDK (1.x and 2.x) and of fastmcp (2 to 4) are recognized by their
attributes, and driven by the package they are from, which alone is imported: the server's ``run``,
between the streams that its ``stdio_server`` makes of two text files, in memory here.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import AsyncExitStack
from importlib import import_module
from typing import Any, Callable, Union

from ..errors import ConnectionLost, PeerError
from ..jsonrpc import messages
from ..jsonrpc.codec import decode, encode
from ..jsonrpc.messages import ErrorCode, Message
from ..net.futures import cancel
from ..protocol.outgoing import Outgoing
from .base import Receiver, Transport

# Seconds that a server may take to return after its messages have ended, and after a cancellation.
_RETURN_TIMEOUT = 1.0


class ServerEnd:
    """The server's end of an in-process connection.

    ``async for message in end`` takes the client's messages until the client closes; `send` gives
    the client a message at any time.
    """

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._inbox: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._closed = False

    def send(self, message: Mapping[str, Any]) -> None:
        """Give the client a message; ignored once the client has closed.

        Raises `UsageError` for what JSON cannot carry. To be called in the client's event loop.
        """
        # In a later turn of the loop, as from any peer: never during the client's own call.
        asyncio.get_running_loop().call_soon(self._deliver, encode(message))

    def _deliver(self, text: bytes) -> None:
        if not self._closed:
            self._receiver.message_received(decode(text))

    async def __aiter__(self) -> AsyncIterator[Message]:
        while True:
            text = await self._inbox.get()
            if text is None:
                return
            yield decode(text)

    def take(self, text: bytes) -> None:
        """Put a message from the client into the inbox; called by the transport."""
        self._inbox.put_nowait(text)

    def close(self) -> None:
        """End the iteration over the client's messages; called by the transport."""
        self._closed = True
        self._inbox.put_nowait(None)


Serve = Callable[[ServerEnd], Awaitable[None]]
"""A server: a coroutine function that runs for as long as the connection lasts."""

Result = Union[Mapping[str, Any], None]
Answer = Callable[[str, Mapping[str, Any]], Union[Result, Awaitable[Result]]]


class InProcessTransport(Transport):
    """Talks to ``serve``, which runs as a task from `open` to `close`."""

    name = "in-process"

    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        self._end: ServerEnd | None = None
        self._task: asyncio.Task[None] | None = None
        self._receiver: Receiver | None = None

    @property
    def description(self) -> str:
        return f"in-process {getattr(self._serve, '__name__', 'server')}"

    async def open(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._end = ServerEnd(receiver)
        self._task = asyncio.get_running_loop().create_task(self._run(self._end))

    async def _run(self, end: ServerEnd) -> None:
        reason = f"{self.description} returned"
        try:
            await self._serve(end)
        except asyncio.CancelledError:
            if end is not self._end:
                raise
            reason = f"{self.description} was cancelled"
        except Exception as error:
            reason = f"{self.description} failed: {type(error).__name__}: {error}"
        if end is self._end and self._receiver is not None:
            self._receiver.connection_lost(ConnectionLost(reason))

    def send(self, outgoing: Outgoing) -> None:
        """Put a message into the server's inbox. Raises `ConnectionLost` when it does not run."""
        text = outgoing.encode()
        if self._end is None or self._task is None or self._task.done():
            raise ConnectionLost(f"{self.description} is not running")
        self._end.take(text)

    async def close(self) -> None:
        end, self._end = self._end, None
        if end is not None and self._task is not None:
            end.close()
            await asyncio.wait({self._task}, timeout=_RETURN_TIMEOUT)
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=_RETURN_TIMEOUT)

    def abort(self) -> None:
        self._end = None
        cancel(self._task)


def serve_function(answer: Answer) -> Serve:
    """Make a server of a function that takes method and params and returns the result.

    The function may be plain or async. It is called for notifications too; their result is ignored.
    When it raises `PeerError`, that error is the answer; any other exception becomes an internal
    error (-32603).
    """

    async def serve(end: ServerEnd) -> None:
        async for message in end:
            if "method" not in message:
                continue
            request_id = message.get("id", "")
            try:
                result = answer(message["method"], message.get("params", {}))
                if inspect.isawaitable(result):
                    result = await result
                reply = messages.response(request_id, result or {})
            except PeerError as error:
                reply = messages.failure(request_id, error)
            except Exception as error:
                text = f"{type(error).__name__}: {error}"
                reply = messages.error_response(request_id, ErrorCode.INTERNAL_ERROR, text)
            if "id" in message:
                end.send(reply)

    return serve


# Where the high-level servers keep the low-level one: SDK 1.x and fastmcp, then SDK 2.x.
_LOW_LEVEL = ("_mcp_server", "_lowlevel_server")

_OPTIONS = "create_initialization_options"


def is_server_object(target: object) -> bool:
    """Whether this is a server of the Python SDK or of fastmcp."""
    low = _low_level_of(target)
    return all(callable(getattr(low, name, None)) for name in ("run", _OPTIONS))


def serve_object(server: object) -> Serve:
    """Return a function that serves one connection with a server object."""

    async def serve(end: ServerEnd) -> None:
        low = _low_level_of(server)
        # The package of the low-level server; fastmcp's is a subclass of the SDK's.
        makers = [each for each in type(low).__mro__ if _OPTIONS in vars(each)]
        package = makers[-1].__module__.partition(".")[0]
        stdio = import_module(f"{package}.server.stdio")
        async with AsyncExitStack() as stack:
            lifespan = getattr(server, "_lifespan_manager", None)
            if lifespan is not None:  # fastmcp's own, which its low-level server does not enter
                await stack.enter_async_context(lifespan())
            read, write = await stack.enter_async_context(
                stdio.stdio_server(_lines(end), _Writer(end))
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


async def _lines(end: ServerEnd) -> AsyncIterator[str]:
    """Yield the client's messages as an asynchronous text file does."""
    async for message in end:
        yield encode(message).decode()


class _Writer:
    """An asynchronous text file whose lines are messages to the client."""

    def __init__(self, end: ServerEnd) -> None:
        self._end = end

    async def write(self, text: str) -> int:
        self._end.send(json.loads(text))
        return len(text)

    async def flush(self) -> None:
        """Do nothing: every line is sent at once."""
