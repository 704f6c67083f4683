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

from ..bridging.host import HostChannel
from ..bridging.relayed import Relayed, renamed
from ..bridging.translation import (
    CAPABILITIES,
    INFO,
    REMOVED,
    VERSION,
    completed,
    stateless_meta,
)
from ..client.client import Client
from ..client.connection.limits import RequestOptions
from ..client.connection.reconnection import UNDER_WAY, Status
from ..client.events.around import not_called, refusal
from ..errors import McpError, PeerError, ServerUnavailable, UsageError
from ..framing.invisible import with_visible_texts
from ..framing.logs import logger_for
from ..hints import SHELL, hint_for
from ..jsonrpc.codec import VerbatimObject
from ..jsonrpc.messages import ErrorCode, RequestId
from ..jsonrpc.peer import Params
from ..manager.events import StatusChanged, ToolsUpdated
from ..manager.manager import Manager
from ..manager.server import Server
from ..manager.tools import ManagedTool
from ..net.futures import BackgroundTasks, NextChange
from ..protocol.negotiation import STATELESS_VERSIONS
from ..suggestions import there_is_no
from .changes import SERVERS, Changes
from .directory import Directory
from .introduction import discovered, initialized, status
from .meta_tools import MetaTools
from .upstream import Upstream

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


class Gateway:
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
        manager.require_closed()
        self.manager = manager
        self.host: HostChannel
        self.tasks: BackgroundTasks = BackgroundTasks()
        self.upstreams: dict[str, Upstream] = {}
        self.log_level: str = ""
        self.declared: tuple[Params, Params] = {}, {}
        """The capabilities of the host, and the params of its ``initialize``."""
        self.changes: Changes = Changes(self)
        self.directory: Directory = Directory(self, manager._catalog.names)
        self.limits = limits
        self._wait = wait
        self.is_read_only = read_only
        self.explain_for: Explain = explain
        self._meta_tools: MetaTools | None = None
        if expose != "all":
            self._meta_tools = MetaTools(self, with_code=expose == "code")
        self.is_stalled: bool = False
        self._opening: asyncio.Task[Any] | None = None
        self._deadline = 0.0
        self._settled = NextChange()
        self._task_servers: dict[str, str] = {}

    async def serve(self, stdin: IO[bytes], stdout: IO[bytes], *, threads: bool = False) -> None:
        """Serve a host until it closes its end; then close the servers."""
        self.host = HostChannel(self, stdin, stdout, threads=threads)
        try:
            await asyncio.wait({self.host.over})
        finally:
            await self.host.close()
            self.tasks.cancel()
            for upstream in self.upstreams.values():
                await upstream.rounds.close()
            if self._meta_tools is not None:
                await self._meta_tools.close()
            await self.manager.close()
            await self.tasks.wait()

    def server(self, name: str) -> Server:
        """Return a server of the manager. Raises `ServerUnavailable` for one that was removed."""
        server = self.manager.servers.get(name)
        if server is None:
            raise ServerUnavailable(name, "removed", "it is not configured any more")
        return server

    # Opening

    def _open(self, capabilities: Any, info: Any, opening: Params) -> None:
        """Begin to open the manager with the capabilities of the host, at its first request."""
        declared = capabilities if isinstance(capabilities, dict) else {}
        if self._opening is not None:  # a host of the stateless era says it in each request
            self.declared = {**self.declared[0], **declared}, self.declared[1]
            return
        self.declared = declared, opening
        self.manager.serve(self._prepare, info)
        self._deadline = asyncio.get_running_loop().time() + self._wait
        self._opening = self.tasks.start(self._open_manager())

    async def _open_manager(self) -> None:
        self.tasks.start(self._watch())
        await self.manager.open()
        self._take_servers()
        self._start_deferred()
        self.tasks.start(self._keep_up())

    def _start_deferred(self) -> None:
        for server in self.manager.servers.values():
            if server.status is Status.DEFERRED and not server.config.lazy:
                server.start_deferred()  # its tools are those that are remembered meanwhile

    async def _keep_up(self) -> None:
        """Apply the configuration files again when they have changed."""
        before = self._written()
        while before:
            await asyncio.sleep(_LOOK_EVERY)
            after = self._written()
            if after != before:
                before = after
                try:
                    await self._reload()
                except McpError as error:
                    _logger.warning("the configuration was not read again: %s", error)

    def _written(self) -> dict[str, object]:
        found: dict[str, object] = {}
        for source in self.manager._fleet.config.sources:
            with suppress(OSError):
                state = os.stat(source.path)
                found[source.path] = state.st_mtime_ns, state.st_size, state.st_ino
        return found

    async def _reload(self) -> None:
        load = self.manager._fleet.config.load_again
        if load is None:
            return
        config = await asyncio.get_running_loop().run_in_executor(None, load)
        broken = [each for each in config.problems if each.is_error and not each.server]
        if broken:  # it may be half written
            _logger.warning("the configuration stays as it was: %s", broken[0])
            return
        await self.manager.reload(config)
        self._take_servers()
        self._start_deferred()
        self.changes.changed("tools", "prompts", "resources")

    def _prepare(self, name: str, client: Client) -> None:
        self._upstream(name).prepare(client)

    def _upstream(self, name: str) -> Upstream:
        if name not in self.upstreams:
            self.upstreams[name] = Upstream(self, name)
        return self.upstreams[name]

    def _take_servers(self) -> None:
        """Have an upstream for each server, in the order of the configuration."""
        self.upstreams = {name: self._upstream(name) for name in self.manager.servers}

    async def _opened(self) -> None:
        if self._opening is not None:
            await asyncio.shield(self._opening)

    @property
    def lists_tools(self) -> bool:
        """Whether the list of tools is that of the servers, and changes with it."""
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

    # jsonrpc.peer.Service

    async def request(self, request_id: RequestId, method: str, params: Params | None) -> Params:
        """Return the result of a request of the host."""
        given = params or {}
        meta = stateless_meta(given)
        if method == "ping" and meta is None:
            return {}
        if method == "initialize" and meta is None:
            version = self.host.opened(given)
            self._open(given.get("capabilities"), given.get("clientInfo"), given)
            await self._opened()
            return initialized(self, version)
        self.host.check_era(meta, is_opened=self._opening is not None)
        if meta is not None:
            if not isinstance(meta.get(CAPABILITIES), dict):
                raise PeerError(ErrorCode.INVALID_PARAMS, f"_meta has no {CAPABILITIES}")
            self._open(meta.get(CAPABILITIES), meta.get(INFO), {})
        await self._opened()
        if method == "subscriptions/listen" and meta is not None:
            return await self.changes.listen(request_id, given)
        handle = _HANDLERS.get(method)
        if handle is None or (meta is not None and method in REMOVED):
            raise PeerError(ErrorCode.METHOD_NOT_FOUND, f"the gateway has no {method}")
        result = await handle(self, method, given, meta)
        is_whole = meta is None or isinstance(result, VerbatimObject)
        return result if is_whole else completed(method, result)

    def relayed(self, method: str, params: Params | None) -> Relayed | None:
        """Return the call of a tool, where it can be passed on as it is but for its name."""
        is_special = self._meta_tools or self.is_read_only or any(self.limits[:2])
        if method != "tools/call" or params is None or is_special:
            return None
        meta, name = stateless_meta(params), params.get("name")
        is_known = self.host.version if meta is None else meta[VERSION] in STATELESS_VERSIONS
        owner = self.manager._catalog.names.owner(name) if isinstance(name, str) else None
        if not is_known or owner is None or owner[0] not in self.upstreams:
            return None
        return self.upstreams[owner[0]].relayed(params, renamed(params, owner[1]), meta)

    def explain(self, error: McpError) -> str:
        """Return the text of an error."""
        return self.explain_for("SERVER", error)

    def notification(self, method: str, params: Params | None) -> None:
        """Handle a notification of the host; one about roots is for all servers."""
        if method == "notifications/initialized":
            self.host.become_ready()
        elif method == "notifications/roots/list_changed":
            for upstream in self.upstreams.values():
                if upstream.server.is_connected and not upstream.is_stateless:
                    self.tasks.start(upstream.server.client.notify(method, params))

    def host_stalled(self, *, is_stalled: bool) -> None:
        """Do not read from the servers while the host does not read."""
        self.is_stalled = is_stalled
        for upstream in self.upstreams.values():
            upstream.hold()

    def host_writes(self) -> None:
        """Do nothing: requests go to several servers."""

    host_wrote = host_writes

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
        return {
            "tools": [
                {**with_visible_texts(tool.raw), "name": tool.name} for tool in self.offered()
            ]
        }

    async def _call_tool(self, method: str, params: Params, meta: Params | None) -> Params:
        if self._meta_tools is not None:
            return await self._meta_tools.call(params, meta)
        return await self.call(params, meta)

    async def call(self, params: Params, meta: Params | None) -> Params:
        """Return the result of a tool, by its full name. Raises `PeerError`."""
        method = "tools/call"
        name, names = str(params.get("name")), self.manager._catalog.names
        owner = names.owner(name)
        server = names.claimed_by(name) if owner is None else owner[0]
        try:
            if owner is None and server in self.upstreams:  # it may not have listed its tools yet
                await self.server(server).ready_for(method, name, params.get("arguments"))
                owner = names.owner(name)
            elif owner is None:  # or its name says nothing about its server
                await self.settle()
                owner = names.owner(name)
            if owner is None:
                known = there_is_no("tool", name, [tool.name for tool in self.offered()])
                raise PeerError(ErrorCode.INVALID_PARAMS, known)
            if self.is_read_only and all(tool.name != name for tool in self.offered()):
                return not_called(name, "the gateway offers only tools that read", "filter").raw
            upstream = self._upstream(owner[0])
            result = await upstream.request(method, renamed(params, owner[1]), meta, owner[1])
        except PeerError:
            raise
        except McpError as error:
            return refusal(self.explain_for(server or "", error)).raw
        self._learn_task(upstream, result)
        return result

    # Prompts, resources, completion

    async def _list(self, method: str, params: Params, meta: Params | None) -> Params:
        await self.settle()
        kind, key = _KINDS[method]
        items = await self.directory.items(kind)
        if kind == "resources":
            items.insert(0, _STATUS)
        return {key: items}

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

    def _learn_task(self, upstream: Upstream, result: Params) -> None:
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

_KINDS = {
    "prompts/list": ("prompts", "prompts"),
    "resources/list": ("resources", "resources"),
    "resources/templates/list": ("templates", "resourceTemplates"),
}


async def _discover(gateway: Gateway, method: str, params: Params, meta: Params | None) -> Params:
    if meta is None or gateway.host.version:
        raise PeerError(ErrorCode.METHOD_NOT_FOUND, "initialize was sent")
    return discovered(gateway)


_HANDLERS: dict[str, Callable[[Gateway, str, Params, Params | None], Awaitable[Params]]] = {
    "server/discover": _discover,
    "tools/list": Gateway._list_tools,
    "tools/call": Gateway._call_tool,
    **dict.fromkeys(_KINDS, Gateway._list),
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
    this closes (by default those of the process). ``expose``: the tools that the host gets:
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
