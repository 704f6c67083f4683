"""A stdio server in front of all servers of a manager.

It answers the opening of a host at once, whatever the servers do: they are connected then, and
learn the capabilities of the host. Their tools, prompts and resources are one list each, and a
request goes to the server that its name or URI belongs to.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from typing import IO, Any, Callable, Literal

from ..bridging.host import HostService
from ..bridging.relayed import Relayed, renamed
from ..bridging.translation import REMOVED, Introduction, completed
from ..client.answers.peer import Params
from ..client.connection.limits import RequestOptions
from ..client.connection.reconnection import UNDER_WAY
from ..client.events.around import not_called, refusal
from ..errors import McpError, PeerError, ServerUnavailable, UsageError
from ..framing.logs import logger_for
from ..hints import hint_for
from ..hints.shell import SHELL
from ..jsonrpc.codec import VerbatimObject
from ..jsonrpc.messages import ErrorCode, RequestId
from ..manager.events import StatusChanged, ToolsUpdated
from ..manager.manager import Manager
from ..manager.server import Server
from ..manager.tools import ManagedTool
from ..net.futures import NextChange
from ..suggestions import there_is_no
from ..version import __version__
from .changes import SERVERS, Changes
from .directory import LIST_METHODS, Directory
from .meta_tools import MetaTools, shown_tool
from .upstream import ManagedUpstream

_logger = logger_for("mcpclient.gateway")

# Seconds between two looks at the configuration files.
_LOOK_EVERY = 1.0

# The most tasks whose server is remembered.
_MAX_TASKS = 10_000

_NO_LIMITS = RequestOptions(None, None)

Expose = Literal["all", "search", "code"]
"""The tools that the host gets: all, or those that find and call the others."""

Explain = Callable[[str, BaseException], str]
"""Takes the name of a server and an error; returns its message for the user and the model."""


def explained(server: str, error: BaseException) -> str:
    """Return the text of an error, and what to do about it on a command line."""
    hint = hint_for(error, SHELL).replace("SERVER", server)
    text = str(error)
    return " ".join(filter(None, (text if text.endswith(".") else f"{text}.", hint)))


class Gateway(HostService):
    """One host and the servers of a manager, which must not be open yet.

    ``wait``: the most seconds that lists wait for servers that are still starting. ``read_only``:
    only tools of which a trusted server says that they change nothing. ``explain``: see `Explain`.
    ``limits``: of each request; the host has its own.
    """

    def __init__(
        self,
        manager: Manager,
        *,
        expose: Expose = "all",
        wait: float = 1.0,
        read_only: bool = False,
        explain: Explain = explained,
        limits: RequestOptions = _NO_LIMITS,
    ) -> None:
        if expose not in ("all", "search", "code"):
            raise UsageError(f'expose is "all", "search" or "code", not {expose!r}')
        manager._require_closed()
        super().__init__(limits)
        self.manager = manager
        self.upstreams: dict[str, ManagedUpstream] = {}
        self.log_level: str = ""
        self.changes: Changes = Changes(self)
        self.directory: Directory = Directory(self, manager._catalog.names)
        self._wait = wait
        self.is_read_only = read_only
        self.explain_for: Explain = explain
        self._meta_tools: MetaTools | None = None
        if expose != "all":
            self._meta_tools = MetaTools(self, with_code=expose == "code")
        self._opening: asyncio.Task[None] | None = None
        self._deadline = 0.0
        self._settled = NextChange()
        self._task_servers: dict[str, str] = {}

    async def close(self) -> None:
        """Close the servers."""
        for upstream in self.upstreams.values():
            await upstream.rounds.close()
        if self._meta_tools is not None:
            await self._meta_tools.close()
        await self.manager.close()

    def server(self, name: str) -> Server:
        """Return a server of the manager. Raises `ServerUnavailable` for one that was removed."""
        server = self.manager.servers.get(name)
        if server is None:
            raise ServerUnavailable(name, "removed", "it is not configured any more")
        return server

    # Opening

    async def open(self, info: Any) -> None:
        """Open the manager with the capabilities of the host, at its first request."""
        if self._opening is None:
            self.manager._serve(lambda name: self._upstream(name).wiring(), info)
            self._deadline = asyncio.get_running_loop().time() + self._wait
            self._opening = self.tasks.start(self._open_manager())
        # The host may cancel this request, and others wait for the same opening.
        await asyncio.shield(self._opening)

    async def initialized(self) -> Params:
        """Return the result of ``initialize``, which depends on no server."""
        return introduction(self).initialized(self.version)

    async def _open_manager(self) -> None:
        self.tasks.start(self._watch())  # first, so that no change of a status is missed
        await self.manager.open()
        self._use_servers()
        self.tasks.start(self._keep_up())

    async def _keep_up(self) -> None:
        """Apply the configuration files again when they have changed."""
        before = self._written()
        while self.manager._fleet.config.sources:  # a file may be gone until an editor is done
            await asyncio.sleep(_LOOK_EVERY)
            after = self._written()
            if after != before:
                before = after
                try:
                    await self._reload()
                except McpError as error:
                    _logger.warning("the configuration stays as it was: %s", error)

    def _written(self) -> dict[str, object]:
        found: dict[str, object] = {}
        for source in self.manager._fleet.config.sources:
            with suppress(OSError):
                state = os.stat(source.path)
                found[source.path] = state.st_mtime_ns, state.st_size, state.st_ino
        return found

    async def _reload(self) -> None:
        load = self.manager._fleet.config.load_again
        assert load is not None, "it has files"
        config = await asyncio.get_running_loop().run_in_executor(None, load)
        for problem in config.problems:
            if problem.is_error and not problem.server:  # it may be half written
                raise UsageError(str(problem))
        await self.manager.reload(config)
        self._use_servers()
        self.changes.changed("tools", "prompts", "resources")

    def _upstream(self, name: str) -> ManagedUpstream:
        if name not in self.upstreams:
            self.upstreams[name] = ManagedUpstream(self, name)
        return self.upstreams[name]

    def _use_servers(self) -> None:
        """Have an upstream for each server, in the order of the configuration; start them."""
        self.upstreams = {name: self._upstream(name) for name in self.manager.servers}
        for server in self.manager.servers.values():
            if not server.config.lazy:
                server.start_deferred()  # its tools are those that are remembered meanwhile

    @property
    def lists_tools(self) -> bool:
        """Whether the tools are the servers' own, and change with them."""
        return self._meta_tools is None

    async def settle(self) -> None:
        """Wait until no server is starting, but not longer than a list may wait."""
        loop = asyncio.get_running_loop()
        while any(each.status in UNDER_WAY for each in self.manager.servers.values()):
            left = self._deadline - loop.time()
            if left <= 0:
                break
            await self._settled.wait(left)

    async def _watch(self) -> None:
        async for event in self.manager.events():
            if isinstance(event, ToolsUpdated):
                self.changes.changed("tools")
            elif isinstance(event, StatusChanged):
                self._settled.notify()
                self.changes.updated(SERVERS, {"uri": SERVERS})

    # client.answers.peer.Peer

    async def handle(
        self, request_id: RequestId, method: str, params: Params | None, meta: Params | None
    ) -> Params:
        """Return the result of a request of the host."""
        given = params or {}
        if method == "subscriptions/listen" and meta is not None:
            return await self.changes.listen(request_id, given)
        if method == "server/discover" and meta is not None:
            return introduction(self).discovered()
        handle = _HANDLERS.get(method)
        if handle is None or (meta is not None and method in REMOVED):
            raise PeerError(ErrorCode.METHOD_NOT_FOUND, f"the gateway has no {method}")
        result = await handle(self, method, given, meta)
        is_whole = meta is None or isinstance(result, VerbatimObject)
        return result if is_whole else completed(method, result)

    def relayed(self, method: str, params: Params | None) -> Relayed | None:
        """Return the call of a tool, where it can be passed on as it is but for its name."""
        if method != "tools/call" or params is None or self._meta_tools or self.is_read_only:
            return None
        name = params.get("name")
        owner = self.manager._catalog.names.owner(name) if isinstance(name, str) else None
        if owner is None or owner[0] not in self.upstreams:
            return None
        return self.upstreams[owner[0]].relay(method, renamed(params, owner[1]), params)

    def explain(self, error: McpError) -> str:
        """Return the text of an error."""
        return self.explain_for("SERVER", error)

    def notification(self, method: str, params: Params | None) -> None:
        """Handle a notification of the host; one about roots is for all servers."""
        super().notification(method, params)
        if method == "notifications/roots/list_changed":
            for upstream in self.upstreams.values():
                if upstream.is_open and not upstream.is_stateless:
                    self.tasks.start(upstream.client.notify(method, params))

    def stalled(self, is_stalled: bool) -> None:
        """Do not read from the servers while the host does not read."""
        super().stalled(is_stalled)
        for upstream in self.upstreams.values():
            upstream.hold_server()

    # Tools

    def offered(self) -> list[ManagedTool]:
        """Return the tools that the host may call: none that pins refuse is read by a model."""
        return [
            tool
            for tool in self.manager.tools
            if (tool.read_only or not self.is_read_only)
            and self.server(tool.server).refusal_of(tool.raw_name) is None
        ]

    async def _list_tools(self, method: str, params: Params, meta: Params | None) -> Params:
        if self._meta_tools is not None:
            return {"tools": self._meta_tools.definitions()}
        await self.settle()
        return {"tools": [shown_tool(tool) for tool in self.offered()]}

    async def _call_tool(self, method: str, params: Params, meta: Params | None) -> Params:
        if self._meta_tools is not None:
            return await self._meta_tools.call(params, meta)
        return await self.call(params, meta)

    async def call(self, params: Params, meta: Params | None) -> Params:
        """Return the result of a tool, by its full name. Raises `PeerError`."""
        method, name, names = "tools/call", str(params.get("name")), self.manager._catalog.names
        server = ""
        try:
            owner = await self.manager._owner_of(name, params.get("arguments"))
            if owner is None:  # its name says nothing about its server, which may be starting
                await self.settle()
                owner = names.owner(name)
            if owner is None:
                known = there_is_no("tool", name, [tool.name for tool in self.offered()])
                raise PeerError(ErrorCode.INVALID_PARAMS, known)
            server = owner[0]
            if self.is_read_only and all(tool.name != name for tool in self.offered()):
                return not_called(name, "the gateway offers only tools that read", "filter").raw
            upstream = self._upstream(owner[0])
            result = await upstream.request(method, renamed(params, owner[1]), meta, owner[1])
        except PeerError:
            raise
        except McpError as error:
            return refusal(self.explain_for(server or names.claimed_by(name) or "", error)).raw
        self._learn_task(upstream, result)
        return result

    # Prompts, resources, completion

    async def _list(self, method: str, params: Params, meta: Params | None) -> Params:
        await self.settle()
        items = await self.directory.items(method)
        if method == "resources/list":
            items.insert(0, _STATUS)
        return {LIST_METHODS[method][0]: items}

    async def _get_prompt(self, method: str, params: Params, meta: Params | None) -> Params:
        upstream, name = await self.directory.prompt(params.get("name"))
        return await upstream.request(method, renamed(params, name), meta, name)

    async def _read(self, method: str, params: Params, meta: Params | None) -> Params:
        if params.get("uri") == SERVERS:
            content = {"uri": SERVERS, "mimeType": "text/plain", "text": status(self)}
            return {"contents": [content]}
        upstream, uri = await self.directory.resource(params.get("uri"))
        return await upstream.request(method, renamed(params, uri, "uri"), meta, uri)

    async def _complete(self, method: str, params: Params, meta: Params | None) -> Params:
        ref = params.get("ref")
        ref = ref if isinstance(ref, dict) else {}
        if ref.get("type") == "ref/prompt":
            upstream, name = await self.directory.prompt(ref.get("name"))
            ref = {**ref, "name": name}
        else:
            upstream, uri = await self.directory.resource(ref.get("uri"), "uriTemplate")
            ref = {**ref, "uri": uri}
        return await upstream.request(method, {**params, "ref": ref}, meta)

    async def _subscribe(self, method: str, params: Params, meta: Params | None) -> Params:
        uri = str(params.get("uri"))
        if method == "resources/subscribe":
            await self.changes.subscribe(uri)
        else:
            self.changes.unsubscribe(uri)
        return {}

    async def _set_level(self, method: str, params: Params, meta: Params | None) -> Params:
        self.log_level = str(params.get("level"))
        await asyncio.gather(
            *(each.set_log_level(self.log_level) for each in self.upstreams.values())
        )
        return {}

    # Tasks

    def _learn_task(self, upstream: ManagedUpstream, result: Params) -> None:
        task = result.get("task")
        found = task if isinstance(task, Mapping) else result
        task_id = found.get("taskId")
        if isinstance(task_id, str):
            self._task_servers.setdefault(task_id, upstream.name)
            if len(self._task_servers) > _MAX_TASKS:
                del self._task_servers[next(iter(self._task_servers))]

    async def _ask_task(self, method: str, params: Params, meta: Params | None) -> Params:
        upstream = self.upstreams.get(self._task_servers.get(str(params.get("taskId")), ""))
        if upstream is None:
            raise PeerError(ErrorCode.INVALID_PARAMS, "Task not found")
        return await upstream.request(method, params, meta)

    async def _list_tasks(self, method: str, params: Params, meta: Params | None) -> Params:
        found: list[Any] = []
        for upstream in self.upstreams.values():
            if upstream.offers("tasks", "list"):
                listed = await upstream.listed(method, "tasks")
                for task in listed:
                    self._learn_task(upstream, task)
                found += listed
        return {"tasks": found}


_STATUS = {
    "uri": SERVERS,
    "name": "servers",
    "description": "the servers behind this gateway: connected or why not",
    "mimeType": "text/plain",
}


async def _pong(gateway: Gateway, method: str, params: Params, meta: Params | None) -> Params:
    return {}


_HANDLERS: dict[str, Callable[[Gateway, str, Params, Params | None], Awaitable[Params]]] = {
    "ping": _pong,
    "tools/list": Gateway._list_tools,
    "tools/call": Gateway._call_tool,
    **dict.fromkeys(LIST_METHODS, Gateway._list),
    "prompts/get": Gateway._get_prompt,
    "resources/read": Gateway._read,
    "resources/subscribe": Gateway._subscribe,
    "resources/unsubscribe": Gateway._subscribe,
    "completion/complete": Gateway._complete,
    "logging/setLevel": Gateway._set_level,
    "tasks/list": Gateway._list_tasks,
    **dict.fromkeys(
        ("tasks/get", "tasks/result", "tasks/update", "tasks/cancel"), Gateway._ask_task
    ),
}


_CAPABILITIES = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "completions": {},
    "logging": {},
    "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
}


def introduction(gateway: Gateway) -> Introduction:
    """Return the gateway's description of itself, which depends on no server."""
    info = {"name": "mcpclient-gateway", "version": __version__}
    return Introduction(info, _CAPABILITIES, _instructions(gateway))


def _instructions(gateway: Gateway) -> str:
    named = ", ".join(gateway.manager._fleet.configs) or "none"
    lines = [
        f"Tools and prompts of several servers, each named SERVER__NAME. Servers: {named}. "
        f"The resource {SERVERS} shows which are connected, and what to do about the others."
    ]
    lines += (each._section for each in gateway.manager.servers.values())
    return "\n\n".join(filter(None, lines))


def status(gateway: Gateway) -> str:
    """Return the status of each server in a line, with what to do about those that fail."""
    lines = []
    for name, server in gateway.manager.servers.items():
        line = f"{name}: {server.status.value}"
        if server.is_connected or server.tools:
            line += f", {len(server.tools)} tools"
        if server.error is not None:
            line += f". {gateway.explain_for(name, server.error)}"
        lines.append(line)
    shared = gateway.directory.collisions
    if shared:
        lines.append(f"Listed by several servers, read as SERVER:URI: {', '.join(shared)}")
    lines += [str(problem) for problem in gateway.manager.problems]
    return "\n".join(lines) or "No server is configured."


async def bridge(
    manager: Manager,
    stdin: IO[bytes] | None = None,
    stdout: IO[bytes] | None = None,
    *,
    expose: Expose = "all",
    wait: float = 1.0,
    read_only: bool = False,
) -> None:
    """Be a stdio server in front of all servers of a manager, until the host closes its end.

    ``manager``: one that is not open; it is opened with the capabilities of the host, at its first
    request, and closed at the end. ``stdin``, ``stdout``: raw binary files or pipes, which
    this closes (by default the process's own). ``expose``: the tools that the host gets:
    ``"all"``; ``"search"``: find, describe and call in their place; ``"code"``: also run_python.
    ``wait``: the most seconds that lists wait for servers that are still starting. ``read_only``:
    only tools of which a trusted server says that they change nothing.

    Raises `UsageError` for an open manager, and `SandboxUnavailable` where code cannot be confined.

    ::

        await mcpclient.bridge(mcpclient.Manager(".mcp.json", pins=mcpclient.Pins("mcp.lock")))
    """
    gateway = Gateway(manager, expose=expose, wait=wait, read_only=read_only)
    source = os.fdopen(os.dup(0), "rb", 0) if stdin is None else stdin
    target = os.fdopen(os.dup(1), "wb", 0) if stdout is None else stdout
    await gateway.serve(source, target, threads=sys.platform == "win32")
