"""The client of one server: connecting, closing, state, settings and tasks."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, NoReturn

from ..errors import ConnectionLost, UsageError
from ..framing.escaping import escape_line
from ..framing.invisible import without_invisible
from ..net.paths import is_bundle
from ..protocol.negotiation import extensions_of
from ..protocol.types import CallToolResult, Implementation, Tool
from .connection.connection import Connection
from .connection.limits import DEFAULT, Default, Seconds
from .connection.options import EraMemory, Options
from .connection.targets import Target, mapping_of, route_to
from .contents import Contents
from .listed_tools import checked_arguments
from .requests import ProgressHandler, with_meta

if TYPE_CHECKING:
    from ..adapters.model_api import Provider
    from ..adapters.toolbox import Toolbox, ToolboxOptions
    from ..net.recorder import TraceTarget
    from ..protocol.tasks import Task
    from ..typing_compat import Unpack
    from .answers.answerers import RootsOption
    from .connection.client_options import ClientOptions, QueryOptions, ResultT
    from .events.around import Around


class _Documented:
    """The docstring of `Client`, to which a reader's `help` adds every option.

    It is built when read, since reading the options takes longer than importing a client.
    """

    def __init__(self, text: str | None) -> None:
        self._text = text

    def __get__(self, instance: object, owner: object = None) -> str | None:
        if self._text is None:  # python -OO
            return None
        from .connection.client_options import with_options

        try:
            text: str = with_options(self._text)
            return text
        except (UsageError, OSError):  # a copy without the part `types`, or without its sources
            return self._text


class Client(Contents):
    """A connection to one MCP server.

    ``async with Client(target, …) as client`` connects and closes; so do ``client = await
    Client(target, …)`` and ``await client.close()``. `mcpclient.connect` is this class.

    A client may be used from many tasks at once, from other event loops than the one it was
    connected in, and closed from any of them. A forked copy of the program cannot use it, and
    cannot disturb it either.

    ``target``: a URL, a command (string or list), a path to a script or a bundle (``.mcpb``), a
    configuration mapping, or a `Transport`.

    A handler that is a plain function (``sampling``, ``elicitation``, ``roots``) blocks the event
    loop while it runs. When one raises, or returns a value that does not fit, the server gets an
    error and the connection stays open; in the stateless era the call that needed the answer raises
    `HandlerFailed`.

    Raises `UsageError` for an option that does not exist, or that means nothing for the target,
    such as ``env`` for a URL.

    Options are keyword arguments, and described at `ClientOptions`.
    """

    if not TYPE_CHECKING:
        __doc__ = _Documented(__doc__)

    # Shared by all clients of this process, so that only one has to find out a server's era.
    _eras = EraMemory()

    def __init__(self, target: Target, **given: Unpack[ClientOptions]) -> None:
        mapping = mapping_of(target)
        if mapping is not None:
            if is_bundle(target):  # a copy that lacks more than one part for it names all
                from ..entries.bundles import manifest  # noqa: F401
            from .configured import client_arguments

            arguments: Any = client_arguments(mapping, given)
            target, given = arguments
        options = Options.of(given, os.environ, self._eras)
        super().__init__(Connection(route_to(target, options), options))

    # Connecting and closing

    async def connect(self) -> Client:
        """Connect, unless connected already; reconnect after a loss, now and not after a pause.

        The client lives in the event loop that connects it, until it is closed or that loop stops.

        Raises `ConnectFailed`, `CallTimeout`, `ProcessExited`, an `AuthError`, or the error that
        the server answered. When it fails or is cancelled, nothing is left running.
        """
        self._connection.claim_loop()
        keeper = self._keeper
        await self._home.run(self._connection.open if keeper is None else keeper.open)
        return self

    async def close(self) -> None:
        """Close the connection and free everything, within ``close_timeout`` seconds.

        Idempotent, and callable from any task and any event loop. Pending calls raise
        `ClientClosed`. Cancelling it aborts the rest at once.
        """
        connection = self._connection
        if connection.is_inherited:
            return
        if connection.loop is not None and connection.loop.is_running():
            with suppress(ConnectionLost):  # its loop has ended meanwhile
                await self._home.run(connection.close)
                if self._keeper is not None:
                    await self._home.run(self._keeper.ended)
                return
        connection.abort()

    def __await__(self) -> Generator[Any, None, Client]:
        return self.connect().__await__()

    def __enter__(self) -> NoReturn:
        raise UsageError("a client is asynchronous: write async with, in an async function")

    def __exit__(self, *unused: object) -> None:  # else ``with`` would not get to `__enter__`
        pass

    async def __aenter__(self) -> Client:
        return await self.connect()

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    def __del__(self) -> None:
        connection = self.__dict__.get("_connection")
        if connection is None or not connection.is_to_be_closed:
            return
        loop = connection.loop
        try:
            if loop is None or loop.is_closed() or not loop.is_running():
                connection.abort()
            else:
                loop.call_soon_threadsafe(connection.abort)
        except Exception:  # modules may be empty when the interpreter ends
            pass

    def __repr__(self) -> str:
        state = "connected" if self.is_connected else "not connected"
        return escape_line(f"<mcpclient.Client {self._connection.route.shown} {state}>")

    # Facts about the server

    @property
    def is_connected(self) -> bool:
        """Whether calls can be made now, as far as is known.

        Also False once an HTTP server refuses the connection, or has forgotten the session and
        gives no other; then `connect` reconnects, and a call that succeeds makes it True.
        """
        return self._connection.is_connected

    @property
    def target(self) -> str:
        """The URL or command of the server, secrets replaced."""
        return self._connection.route.shown

    @property
    def server_info(self) -> Implementation:
        """The name and version that the server reports; empty when it reports none."""
        agreement = self._connection.agreement
        return Implementation(agreement.server_info if agreement is not None else {})

    @property
    def capabilities(self) -> dict[str, Any]:
        """The server's capabilities, as it declared them.

        Requests that the client makes by itself keep to them. Methods that you call are sent all
        the same, since many servers declare less than they do; others answer with error -32601.
        """
        return dict(self._connection.capabilities)

    @property
    def extensions(self) -> dict[str, dict[str, Any]]:
        """The extensions that the server declared, with their settings."""
        return extensions_of(self.capabilities)

    @property
    def instructions(self) -> str | None:
        """The server's instructions for a language model, without characters that are invisible."""
        agreement = self._connection.agreement
        said = agreement.instructions if agreement is not None else None
        return said and without_invisible(said)

    @property
    def protocol_version(self) -> str | None:
        """The revision agreed on; None before connecting."""
        agreement = self._connection.agreement
        return agreement.era.version if agreement is not None else None

    @property
    def transport_name(self) -> str:
        """The kind of transport in use: ``"stdio"``, ``"http"``, ``"sse"``, ``"ws"``, ``"socket"``
        or the name of a custom one. Raises `ClientClosed` without a connection.
        """
        return self._connection.session.transport.name

    async def ping(self, *, timeout: Seconds = DEFAULT) -> None:
        """Check that the server answers. Raises what `request` does when it does not.

        The stateless era has no ping; there, this asks for the server's capabilities instead.
        """
        method = "server/discover" if self._connection.is_stateless else "ping"
        await self.request(method, timeout=timeout, fresh=True)

    async def set_roots(self, roots: RootsOption) -> None:
        """Replace the roots, and notify the server (handshake era).

        Raises `UsageError` when the client was made without ``roots``, since it then declared no
        support for them. Pass ``roots=[]`` to start without any.
        """
        self._connection.options.handlers.set_roots(roots)
        if self.is_connected and not self._connection.is_stateless:
            await self.notify("notifications/roots/list_changed")

    def trace_to(self, target: TraceTarget) -> Callable[[], None]:
        """Write a transcript of everything sent and received from now on, as ``trace`` does.

        Returns a function that stops it. The transcript begins with the messages that opened the
        connection, and the last 64 KiB of the server process's stderr.
        """
        return self._connection.trace_to(target)

    async def set_log_level(self, level: str) -> None:
        """Ask for log messages of this level and above: ``debug``, ``info``, … ``emergency``.

        It applies to later sessions, too. In the stateless era every later request carries it.
        """
        if not self._connection.is_stateless:
            await self.request("logging/setLevel", {"level": level})
        self._connection.session.log_level = level

    def toolbox(self, provider: str | Provider, **options: Unpack[ToolboxOptions]) -> Toolbox:
        """Return a `Toolbox`: the tools for one model API, and the handling of the model's calls.

        ``provider``: ``"anthropic"``, ``"openai_chat"``, ``"openai_responses"``, ``"google"`` or
        ``"bedrock"``. Await the toolbox once to load the tools. Raises `UsageError`.
        """
        from ..adapters.toolbox import Toolbox

        source: Any = self  # its methods take more than a toolbox gives them
        return Toolbox(source, provider, **options)

    # Tasks: calls whose results are fetched later

    async def call_tool_task(
        self,
        tool: str | Tool,
        arguments: Mapping[str, Any] | None = None,
        *,
        ttl: float | None = None,
        timeout: Seconds = DEFAULT,
        max_timeout: Seconds = DEFAULT,
        on_progress: ProgressHandler | None = None,
        meta: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        around: Sequence[Around] = (),
    ) -> Task:
        """Call a tool and return as soon as the server has made a task of the call.

        ``tool``: its name, or the `Tool` from a listing, which says whether it can be called as a
        task (for a name, the latest listing does). ``ttl``: seconds the server should keep the task
        (2025-11-25 only; it may decide otherwise). ``on_progress`` is called for as long as the
        task runs. For the other options see `call_tool`; a hook around the call sees the task
        as a result without content.

        A server with the tasks extension may also answer at once: then the task is over and has no
        ``id``, and `await_task` accepts it as well. Raises `UsageError` when the server does
        not support tasks or the tool cannot be called as one, and what `request` raises.
        """
        name = tool.name if isinstance(tool, Tool) else tool
        params: dict[str, Any] = {"name": name, "arguments": checked_arguments(arguments)}
        known = tool if isinstance(tool, Tool) else self._listed.find(name)
        self._tasks.check_call(name, known)
        meta, on_progress = self._tasks.ask(params, meta, on_progress, ttl)
        send = partial(self._home.run, self._tasks.first_answer)

        limits = self._limits("tools/call", timeout, max_timeout, on_progress, headers, tool=name)
        asked = with_meta(params, meta) if meta else params
        # A task in its first state travels through the hooks as if it were a result.
        hooks = (*around, *self._connection.options.around)
        raw = await self._request_through(hooks, "tools/call", asked, limits, send)
        from ..protocol.tasks import answered_task

        return self._tasks.made_of(params, raw) or answered_task(raw, name)

    async def get_task(self, task: Task | str, **options: Unpack[QueryOptions]) -> Task:
        """Return the current state of a task, given the task or its id.

        Raises `PeerError` (-32602) for a task that the server does not know, or no longer knows.
        """
        from ..protocol.tasks import described_task

        params = {"taskId": _id_of(task)}
        found = await self.request("tasks/get", params, **options)
        return described_task(found, params["taskId"])

    async def list_tasks(self, **options: Unpack[QueryOptions]) -> list[Task]:
        """Return the tasks the server has for this client (2025-11-25 only).

        Raises `UsageError` when the server does not list tasks; then keep the ids yourself.
        """
        from ..protocol.tasks import Task

        self._tasks.check("list")
        return [Task(item) for item in await self._list("tasks/list", "tasks", options)]

    async def await_task(
        self,
        task: Task | str,
        *,
        on_status: Callable[[Task], Any] | None = None,
        timeout: Seconds = DEFAULT,
        max_timeout: Seconds = DEFAULT,
        headers: Mapping[str, str] | None = None,
    ) -> CallToolResult:
        """Wait until a task has ended and return the result of the call that became the task.

        Takes the task or its id, from this connection or an earlier one. It polls the server at
        the interval the server asks for, answers its requests for input through the handlers, and
        reconnects when the connection is lost. The result of a task that `call_tool_task` returned
        is checked as by `call_tool`. ``on_status`` takes the `Task` whenever its status or
        message has changed. ``timeout``: seconds for each request; ``max_timeout``: seconds in all,
        by default the client's, or the task's time to live where it has one. ``headers`` are sent
        with each request.

        Raises `PeerError` with the error the call ended with, or when the server does not know the
        task, `TaskFailed` when it was cancelled or outlived its time, and `CallTimeout`. The task
        runs on when this wait is cancelled or times out; see `cancel_task`.
        """
        from ..protocol.tasks import Task

        known = task if isinstance(task, Task) else Task({"taskId": task})
        result = known.result
        if result is None:
            limits = self._connection.options.timeouts.for_call("tasks/get", timeout, max_timeout)
            limits = limits._replace(headers=headers or {})
            by_default = isinstance(max_timeout, Default)
            waited: Mapping[str, Any] = await self._home.run(
                self._tasks.wait_for, known, on_status, limits, by_default
            )
            result = {**waited}
        return await self._listed.checked(known.tool, result, self._caller.refresh_tools)

    async def cancel_task(self, task: Task | str, **options: Unpack[QueryOptions]) -> None:
        """Ask the server to stop a task, given the task or its id.

        With the extension this is only a request: the task may still end in another way. Raises
        `PeerError` (-32602) for a task that is over, or that the server does not know.
        """
        self._tasks.check("cancel")
        params = {"taskId": _id_of(task)}
        await self.request("tasks/cancel", params, **options)


def _id_of(task: Task | str) -> str:
    task_id = task if isinstance(task, str) else task.id
    if not task_id:
        raise UsageError("a task that was answered at once has no id")
    return task_id


connect = Client
"""Connect to an MCP server: ``async with connect(target) as client``. See `Client`."""


async def call(
    target: Target,
    tool: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    raise_on_error: bool = False,
    returns: type[ResultT] | None = None,
    **options: Unpack[ClientOptions],
) -> ResultT:
    """Connect, call one tool, and close. ``options``: see `Client`; see its `call_tool`."""
    async with Client(target, **options) as client:
        return await client.call_tool(
            tool, arguments, raise_on_error=raise_on_error, returns=returns
        )


async def list_tools(target: Target, **options: Unpack[ClientOptions]) -> list[Tool]:
    """Connect, list the tools, and close. ``options``: see `Client`."""
    async with Client(target, **options) as client:
        return await client.list_tools()
