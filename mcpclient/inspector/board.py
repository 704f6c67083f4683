"""The board of an inspector: all that its page shows and does except for the wire."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from itertools import count, takewhile
from typing import Any, Callable, NamedTuple

from ..auth.url_guard import host_of
from ..client.answers.answerers import Elicitation, Sampling, form_problem
from ..client.client import Client
from ..client.connection.limits import DEFAULT, Seconds
from ..client.requests import connection_of
from ..errors import McpError, UsageError
from ..jsonrpc.codec import is_deep
from ..net.futures import cancel, cancel_all
from ..protocol.elicitation import ElicitationRequest
from ..protocol.sampling import SamplingRequest
from ..protocol.tasks import Task
from ..protocol.types import CallToolResult, Progress
from .described import described_error

_MAX_ITEMS = 1_000


class Item(NamedTuple):
    """One item of the board. ``value``: a JSON object, or None once the item has been removed."""

    kind: str
    name: str
    value: dict[str, Any] | None
    version: int


class Board:
    """Items by kind and name. Every change has a version: a page that was away for a while asks for
    changes after the last version it has seen, and gets the latest state of each item.

    At most 1,000 items are kept. Those that have not changed for the longest time are dropped
    first, except for servers.
    """

    def __init__(self) -> None:
        self.version: int = 0
        self._items: OrderedDict[tuple[str, str], Item] = OrderedDict()

    def put(self, kind: str, name: str, value: dict[str, Any] | None) -> None:
        """Store ``value`` under a new version, unless it is stored already."""
        value = with_limited_depth(value)
        key = (kind, name)
        shown = self._items.get(key)
        if shown is not None and shown.value == value:
            return
        self.version += 1
        self._items[key] = Item(kind, name, value, self.version)
        self._items.move_to_end(key)
        if len(self._items) > _MAX_ITEMS:
            dropped = next((each for each in self._items if each[0] != "server"), None)
            if dropped is not None:
                del self._items[dropped]

    def since(self, version: int) -> list[Item]:
        """Return the items that changed after ``version``, the oldest change first."""
        changed = takewhile(lambda item: item.version > version, reversed(self._items.values()))
        return [*changed][::-1]


_MAX_LEVELS = 200
_TOO_DEEP = "… nested too deeply to be shown"


def with_limited_depth(value: Any, levels: int = _MAX_LEVELS) -> Any:
    """Return a JSON value with a note in place of anything nested deeper than ``levels``.

    A value that is shallow enough is returned itself. A server's JSON may fit the recursion limit
    of the interpreter when it is parsed, and exceed it when it is compared or written on a fuller
    stack.
    """
    return _copy(value, levels) if is_deep(value, levels + 1) else value


def _copy(value: Any, levels: int) -> Any:
    if not isinstance(value, (dict, list)) or not value:
        return value
    if levels == 0:
        return _TOO_DEEP
    if isinstance(value, dict):
        return {name: _copy(item, levels - 1) for name, item in value.items()}
    return [_copy(item, levels - 1) for item in value]


_ProblemWith = Callable[[Any], "str | None"]


class Questions:
    """Questions of servers, shown on the board until the page answers them.

    A client with the options `elicitation` and `sampling` of this object has its questions answered
    by the page. A question is removed when its caller stops waiting, for example because the call
    was cancelled.
    """

    def __init__(self, board: Board) -> None:
        self.board = board
        self._waiting: dict[str, tuple[asyncio.Future[Any], _ProblemWith]] = {}
        self._numbers = count(1)
        self._logins: dict[str, asyncio.Task[Any]] = {}

    @property
    def elicitation(self) -> Elicitation:
        """The value for a client's option ``elicitation``."""
        return Elicitation(form=self._ask_form, url=self._ask_visit)

    @property
    def sampling(self) -> Sampling:
        """The value for a client's option ``sampling``."""
        return Sampling(self._ask_model, tools=True)

    async def ask(
        self,
        kind: str,
        server: str,
        facts: Mapping[str, Any],
        problem_with: _ProblemWith = lambda answer: None,
    ) -> Any:
        """Show a question and return the page's answer as it came.

        An answer for which ``problem_with`` returns a problem is rejected, and the question stays.
        """
        name = str(next(self._numbers))
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[name] = answer, problem_with
        self.board.put("question", name, {"kind": kind, "server": server, **facts})
        try:
            return await answer
        finally:
            del self._waiting[name]
            self.board.put("question", name, None)

    def answer(self, name: str, answer: Any) -> None:
        """Answer a question. Raises `UsageError` if it is not pending or the answer is invalid."""
        waiting, problem_with = self._waiting.get(name, (None, None))
        if waiting is None or problem_with is None or waiting.done():
            raise UsageError("this question has been answered or withdrawn")
        problem = problem_with(answer)
        if problem is not None:
            raise UsageError(f"the answer does not fit the form: {problem}")
        waiting.set_result(answer)

    async def _ask_form(self, request: ElicitationRequest) -> Any:
        facts = {"message": request.message, "schema": request.schema}
        return await self.ask("form", request.server, facts, partial(form_problem, request))

    async def _ask_visit(self, request: ElicitationRequest) -> Any:
        facts = {name: getattr(request, name) for name in ("message", "url", "host")}
        facts["warnings"] = request.url_warnings
        return await self.ask("visit", request.server, facts)

    async def _ask_model(self, request: SamplingRequest) -> Any:
        return await self.ask("sampling", request.server, {"request": dict(request.raw)})

    def show_login(self, server: str, url: str) -> Awaitable[bool]:
        """Show the address of a login, as ``open_browser`` of a `BrowserLogin`; returns True.

        It is shown until the task that calls this method ends.
        """
        # Not `async`: `BrowserLogin` calls this in the task of the login, and awaits the result in
        # a task of its own, which ends long before the login does.
        self.board.put("login", server, {"url": url, "host": host_of(url)})
        login = asyncio.current_task()
        assert login is not None
        self._logins[server] = login
        login.add_done_callback(lambda login: self._login_ended(server, login))
        return asyncio.sleep(0, True)

    def _login_ended(self, server: str, login: asyncio.Task[Any]) -> None:
        if self._logins.get(server) is login:  # a later login to the server may have begun
            del self._logins[server]
            self.board.put("login", server, None)


_MAX_RESULTS = 200

CALL: ContextVar[str] = ContextVar("CALL", default="")
"""The page's call that the code at hand runs for: what it sends belongs to that call."""


@dataclass(frozen=True)
class PageRequest:
    """A request that the page wants made. ``timeout``: seconds without a response or progress."""

    server: str
    method: str
    params: Mapping[str, Any] = field(default_factory=dict)
    timeout: Seconds = DEFAULT

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> PageRequest:
        """Read a request from the page's JSON. Raises `UsageError` if it is not one."""
        server, method = request.get("server"), request.get("method")
        params = request.get("params") or {}
        timeout = DEFAULT if request.get("timeout") is None else request["timeout"]
        if not isinstance(server, str) or not isinstance(method, str) or not method:
            raise UsageError("a request must name its server and its method")
        if not isinstance(params, dict):
            raise UsageError("the params of a request must be an object")
        is_number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool)
        if timeout is not DEFAULT and not is_number:
            raise UsageError("a timeout must be a number of seconds")
        return cls(server, method, params, timeout)

    @property
    def subject(self) -> str:
        """The name or URI that the request is about; an empty string if it has neither."""
        found = self.params.get("name", self.params.get("uri", ""))
        return found if isinstance(found, str) else ""


class Calls:
    """Requests that the page has made: their states on the board, and the latest 200 results.

    They go through the clients; tool calls go through `Client.call_tool`.
    """

    def __init__(self, board: Board) -> None:
        self._board = board
        self._numbers = count(1)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._results: OrderedDict[str, dict[str, Any]] = OrderedDict()

    def start(self, client: Client, request: PageRequest) -> str:
        """Start a request and return its id."""
        name = str(next(self._numbers))
        task = asyncio.get_running_loop().create_task(self._run(name, client, request))
        self._tasks[name] = task
        task.add_done_callback(lambda _: self._tasks.pop(name, None))
        return name

    def cancel(self, name: str) -> None:
        """Cancel a request and notify the server. Does nothing once it has ended."""
        cancel(self._tasks.get(name))

    def result(self, name: str) -> dict[str, Any] | None:
        """Return the outcome of a request: ``result`` and ``warnings``, or ``error``."""
        return self._results.get(name)

    async def close(self) -> None:
        """Cancel all requests."""
        await cancel_all(list(self._tasks.values()))

    async def _run(self, name: str, client: Client, request: PageRequest) -> None:
        clock = asyncio.get_running_loop().time
        began = clock()
        CALL.set(name)  # of this task only
        facts = {name: getattr(request, name) for name in ("server", "method", "subject")}
        # An item of their own: arguments may be large, and each progress step replaces the call's.
        recorder = connection_of(client).options.network.recorder
        assert recorder is not None, "every client has one"
        self._board.put("asked", name, {"params": recorder.writer.masked(request.params)})

        def show(state: str, **more: Any) -> None:
            milliseconds = round((clock() - began) * 1000, 3)
            value = {**facts, "state": state, "milliseconds": milliseconds, **more}
            self._board.put("call", name, value)

        def progress(step: Progress) -> None:
            if not ended:
                show("running", progress=step.raw)

        def follow(task: Task) -> None:
            show("running", task=task.raw)

        ended = False
        show("running")
        try:
            outcome, state = await _perform(client, request, progress, follow)
        except asyncio.CancelledError:
            outcome, state = {"error": {"type": "Cancelled", "text": "it was cancelled"}}, "failed"
        except Exception as error:  # otherwise the page would show the call as running for ever
            outcome, state = {"error": described_error(error)}, "failed"
        ended = True
        self._results[name] = outcome
        if len(self._results) > _MAX_RESULTS:
            self._results.popitem(last=False)
        show(state)


async def _as_task(
    client: Client, name: str, arguments: Any, follow: Callable[[Task], None], **options: Any
) -> CallToolResult:
    task = await client.call_tool_task(name, arguments, **options)
    follow(task)
    try:
        return await client.await_task(task, on_status=follow)
    except asyncio.CancelledError:
        with suppress(McpError):  # it may be over
            await client.cancel_task(task)
        raise


async def _perform(
    client: Client, request: PageRequest, progress: Any, follow: Callable[[Task], None]
) -> tuple[dict[str, Any], str]:
    """Make a request; return its outcome, and ``done`` or ``failed``."""
    method, params, timeout = request.method, request.params, request.timeout
    if method == "tools/call":
        arguments = params.get("arguments") or {}
        if not isinstance(arguments, dict):
            raise UsageError("the arguments of a tool must be an object")
        name, meta = request.subject, params.get("_meta")
        if "task" in params:
            called = await _as_task(client, name, arguments, follow, timeout=timeout, meta=meta)
        else:
            called = await client.call_tool(
                name, arguments, timeout=timeout, on_progress=progress, meta=meta
            )
        state = "failed" if called.is_error else "done"
        return {"result": called.raw, "warnings": called.warnings}, state
    result: Mapping[str, Any] = {}
    if method == "resources/subscribe":
        await client.subscribe_resource(request.subject)
    elif method == "resources/unsubscribe":
        await client.unsubscribe_resource(request.subject)
    elif method == "ping":
        await client.ping(timeout=timeout)
    elif method == "logging/setLevel":
        await client.set_log_level(str(params.get("level")))
    else:
        result = await client.request(
            method, params, timeout=timeout, on_progress=progress, fresh=True
        )
    return {"result": result}, "done"
