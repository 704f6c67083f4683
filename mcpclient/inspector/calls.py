"""Requests that the page makes: under way, ended, and what came of them."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..client.client import Client
from ..client.connection.requests import connection_of
from ..client.connection.timeouts import DEFAULT, Seconds
from ..errors import UsageError
from ..protocol.types import Progress
from .board import Board
from .described import described_error

_MAX_RESULTS = 200


@dataclass(frozen=True)
class Wanted:
    """A request to be made. ``timeout``: seconds without an answer or progress."""

    server: str
    method: str
    params: Mapping[str, Any] = field(default_factory=dict)
    timeout: Seconds = DEFAULT

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> Wanted:
        """Take it from the page. Raises `UsageError` when it is none."""
        server, method = request.get("server"), request.get("method")
        params, timeout = request.get("params") or {}, request.get("timeout")
        if not isinstance(server, str) or not isinstance(method, str) or not method:
            raise UsageError("a request names its server and its method")
        if not isinstance(params, dict):
            raise UsageError("the params of a request are an object")
        if timeout is None:
            return cls(server, method, params)
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
            raise UsageError("a timeout is a number of seconds")
        return cls(server, method, params, timeout)

    @property
    def subject(self) -> str:
        """What tells it from others of its method: a name or a URI."""
        found = self.params.get("name", self.params.get("uri", ""))
        return found if isinstance(found, str) else ""


class Calls:
    """Makes requests through clients, tool calls as `Client.call_tool` makes them; shows on the
    board how they stand, and keeps the latest 200 results.
    """

    def __init__(self, board: Board) -> None:
        self._board = board
        self._count = 0
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._results: OrderedDict[str, dict[str, Any]] = OrderedDict()

    def start(self, client: Client, wanted: Wanted) -> str:
        """Begin a request; return the name it goes by."""
        self._count += 1
        name = str(self._count)
        task = asyncio.get_running_loop().create_task(self._run(name, client, wanted))
        self._tasks[name] = task
        task.add_done_callback(lambda _: self._tasks.pop(name, None))
        return name

    def cancel(self, name: str) -> None:
        """Give a request up; the server is told. One that has ended is left alone."""
        task = self._tasks.get(name)
        if task is not None:
            task.cancel()

    def result(self, name: str) -> dict[str, Any] | None:
        """Return what came of a request: ``result`` and ``warnings``, or ``error``."""
        return self._results.get(name)

    async def close(self) -> None:
        """Give all requests up."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, name: str, client: Client, wanted: Wanted) -> None:
        clock = asyncio.get_running_loop().time
        began = clock()
        facts = {
            "server": wanted.server,
            "method": wanted.method,
            "subject": wanted.subject,
        }
        # Apart, since they may be large, and progress is shown often.
        recorder = connection_of(client).options.network.recorder
        assert recorder is not None, "every client has one"
        self._board.put("asked", name, {"params": recorder.masked(wanted.params)})

        def show(state: str, **more: Any) -> None:
            milliseconds = round((clock() - began) * 1000, 3)
            value = {**facts, "state": state, "milliseconds": milliseconds, **more}
            self._board.put("call", name, value)

        def progress(step: Progress) -> None:
            if not ended:
                show("running", progress=step.raw)

        ended = False
        show("running")
        try:
            outcome, state = await _perform(client, wanted, progress)
        except asyncio.CancelledError:
            outcome, state = {"error": {"type": "Cancelled", "text": "it was cancelled"}}, "failed"
        except Exception as error:  # the page would show for ever that it runs
            outcome, state = {"error": described_error(error)}, "failed"
        ended = True
        self._results[name] = outcome
        if len(self._results) > _MAX_RESULTS:
            self._results.popitem(last=False)
        show(state)


async def _perform(client: Client, wanted: Wanted, progress: Any) -> tuple[dict[str, Any], str]:
    """Make a request; return what came of it, and whether that is a success."""
    method, params, timeout = wanted.method, wanted.params, wanted.timeout
    if method == "tools/call":
        arguments = params.get("arguments") or {}
        if not isinstance(arguments, dict):
            raise UsageError("the arguments of a tool are an object")
        called = await client.call_tool(
            wanted.subject,
            arguments,
            timeout=timeout,
            on_progress=progress,
            meta=params.get("_meta"),
        )
        state = "failed" if called.is_error else "done"
        return {"result": called.raw, "warnings": called.warnings}, state
    if method == "resources/subscribe":
        await client.subscribe_resource(wanted.subject)
        return {"result": {}}, "done"
    if method == "resources/unsubscribe":
        await client.unsubscribe_resource(wanted.subject)
        return {"result": {}}, "done"
    if method == "ping":
        await client.ping(timeout=timeout)
        return {"result": {}}, "done"
    if method == "logging/setLevel":
        await client.set_log_level(str(params.get("level")))
        return {"result": {}}, "done"
    result = await client.request(method, params, timeout=timeout, on_progress=progress, fresh=True)
    return {"result": result}, "done"
