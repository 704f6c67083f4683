"""Calls of tools, resources and prompts of all servers, by the names they have in a manager."""

from __future__ import annotations

import abc
import re
from collections.abc import Collection, Coroutine, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from ..client.client import Client
from ..client.connection.limits import DEFAULT, Seconds
from ..client.connection.reconnection import Status
from ..errors import McpError, PeerError, UsageError
from ..framing.escaping import escape_line
from ..framing.logs import logger_for
from ..jsonrpc.messages import ErrorCode
from ..net.futures import gather_outcomes
from ..protocol.types import GetPromptResult, Prompt, ReadResourceResult, Resource, ResourceTemplate
from ..protocol.wire_object import WireObject, string_at
from ..suggestions import there_is_no
from .server import Server
from .tools import Catalog

if TYPE_CHECKING:
    from ..client.connection.client_options import CallOptions, QueryOptions, ResultT
    from ..client.tool_calls import ToolOutcome
    from ..typing_compat import Unpack

T = TypeVar("T")

_logger = logger_for("mcpclient.manager")

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class _OfServer(WireObject):
    """An item that a server lists; ``server`` is its name in the manager."""

    __slots__ = ()
    server: str

    def __init__(self, raw: Mapping[str, Any], server: str) -> None:
        super().__init__(raw)
        self.server = server  # type: ignore[misc]  # in the slot of a subclass

    def __repr__(self) -> str:
        keys = ("uri", "uriTemplate", "name")
        shown = next((self.raw[key] for key in keys if key in self.raw), "")
        return escape_line(f"<mcpclient.{type(self).__name__} {self.server}:{shown}>")


ItemT = TypeVar("ItemT", bound=_OfServer)


class ManagedResource(_OfServer, Resource):
    """A resource of one of many servers; ``server`` is its name in the manager."""

    __slots__ = ("server",)


class ManagedResourceTemplate(_OfServer, ResourceTemplate):
    """A resource template of one of many servers; ``server`` is its name in the manager."""

    __slots__ = ("server",)


class ManagedPrompt(_OfServer, Prompt):
    """A prompt of one of many servers. ``name`` is ``server:prompt``, ``raw_name`` the server's."""

    __slots__ = ("server",)

    @property
    def name(self) -> str:  # type: ignore[override]  # a field of the raw prompt elsewhere
        """The name in the manager: ``server:prompt``."""
        return f"{self.server}:{self.raw_name}"

    @property
    def raw_name(self) -> str:
        """The name by which the server knows it."""
        return string_at(self.raw, "name") or ""


def split_prompt_name(name: str, servers: Collection[str]) -> tuple[str, str]:
    """Return the server and the prompt of ``server:prompt``.

    Raises `UsageError` when no server's name fits, and when several do, since names may hold colons
    themselves: nothing says whose prompt is meant.
    """
    fitting = [server for server in servers if name.startswith(f"{server}:")]
    if not fitting:
        unknown = there_is_no("server", name.partition(":")[0], servers)
        raise UsageError(f"a prompt is named server:prompt, not {name!r}: {unknown}")
    if len(fitting) > 1:
        raise UsageError(f"{name!r} may be a prompt of {', '.join(fitting)}: say server=…")
    return fitting[0], name[len(fitting[0]) + 1 :]


def find_resource_server(
    uri: str,
    listed: Mapping[str, Collection[str]],
    servers: Collection[str],
    unsure: Sequence[str] = (),
) -> tuple[str, str]:
    """Return the server to read a resource from, and its URI there.

    ``listed``: the URIs that each server lists, or has listed last. ``unsure``: servers whose lists
    are not known. ``server:uri`` is understood as well, where the rest is a URI itself: a server
    called ``https`` owns no web page. Raises `UsageError` where more than one meaning is possible.
    """
    meanings = [(server, uri) for server, uris in listed.items() if uri in uris]
    named = [(server, uri[len(server) + 1 :]) for server in servers if uri.startswith(f"{server}:")]
    is_named = [each for each in named if _SCHEME.match(each[1])]
    meanings += is_named
    if len(meanings) > 1:
        owners = ", ".join(server for server, _ in meanings)
        raise UsageError(f"{uri!r} may be of {owners}: say server=…")
    if not is_named and unsure:
        unknown = ", ".join(unsure)
        raise UsageError(f"{uri!r} may be of {unknown}, which has not listed any: say server=…")
    if meanings:
        return meanings[0]
    if len(listed) == 1:
        return next(iter(listed)), uri
    raise UsageError(f"no server lists {uri!r}: say server=…")


class Calls(abc.ABC):
    """The requests of a `Manager`: tools, resources and prompts of all its servers."""

    _servers: dict[str, Server]
    _uris: dict[str, frozenset[str]]  # the resources that each server listed last
    _catalog: Catalog

    @abc.abstractmethod
    def _server(self, name: str) -> Server:
        """Return the server of a name. Raises `UsageError`."""

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        returns: type[ResultT] | None = None,
        **options: Unpack[CallOptions],
    ) -> ResultT:
        """Call a tool by its full name. For the options see `Client.call_tool`.

        While its server is being connected, the call waits within its ``timeout``; a name that is
        not known yet waits for the server whose name it begins with. When the connection is lost,
        the call is repeated once where it surely did not run, or where a trusted server says that
        this does no harm; otherwise it fails with the reason.

        Raises `UsageError` for a name that no tool has, or whose server was removed,
        `ServerUnavailable` for a server that is disabled, denied, not approved or disconnected, and
        what `Client.call_tool` raises.
        """
        owner = self._catalog.names.owner(name)
        if owner is None:
            owner = await self._owner_of(name, arguments, options.get("timeout", DEFAULT))
        if owner is None:
            raise UsageError(there_is_no("tool", name, [tool.name for tool in self._catalog.tools]))
        server, tool = owner
        if server not in self._servers:  # it was removed, and its tools' names are reserved for it
            raise UsageError(there_is_no("server", server, self._servers))
        try:
            client = self._servers[server].client
        except McpError as error:
            self._servers[server].audit_refusal(error, "tools/call", tool, arguments)
            raise
        call = client.call_tool(tool, arguments, returns=returns, **options)
        arguments = None  # a traceback would show them; the client knows the secret ones
        return await call

    async def _owner_of(
        self, name: str, arguments: object, seconds: Seconds = DEFAULT
    ) -> tuple[str, str] | None:
        """Return the server and the tool's own name that a full name stands for.

        Waits for the server to be connected whose names begin so, if it has no such tool yet.
        """
        names = self._catalog.names
        if names.owner(name) is None:
            claiming = self._servers.get(names.claimed_by(name) or "")
            if claiming is not None and not claiming.is_connected:
                await claiming.ready_for("tools/call", name, arguments, seconds)
        return names.owner(name)

    async def call_tools(
        self, calls: Iterable[tuple[str, Mapping[str, Any] | None]], **options: Unpack[CallOptions]
    ) -> list[ToolOutcome]:
        """Call several tools, of any servers, at the same time; see `Client.call_tools`."""
        return await gather_outcomes(
            self.call_tool(name, arguments, **options) for name, arguments in calls
        )

    async def list_resources(self) -> list[ManagedResource]:
        """Return the resources of all connected servers, in their order.

        A server that cannot list them is left out, with a line in the log.
        """
        found = await self._of_all("resources", lambda client: client.list_resources())
        for server, listed in found.items():
            self._uris[server] = frozenset(each.uri for each in listed)
        return _managed(ManagedResource, found)

    async def list_resource_templates(self) -> list[ManagedResourceTemplate]:
        """Return the resource templates of all connected servers; see `list_resources`."""
        found = await self._of_all("resources", lambda client: client.list_resource_templates())
        return _managed(ManagedResourceTemplate, found)

    async def list_prompts(self) -> list[ManagedPrompt]:
        """Return the prompts of all connected servers, in their order; see `list_resources`."""
        found = await self._of_all("prompts", lambda client: client.list_prompts())
        return _managed(ManagedPrompt, found)

    async def read_resource(
        self, uri: str, *, server: str | None = None, **options: Unpack[QueryOptions]
    ) -> ReadResourceResult:
        """Read a resource of ``server``, or of the one that lists it; also ``server:uri``.

        For options and exceptions see `Client.read_resource`. Also raises `UsageError` when it
        may be one of several servers', also of one whose list is not known yet.
        """
        if server is None:
            await self.list_resources()
            listed = {name: uris for name, uris in self._uris.items() if name in self._servers}
            unsure = [
                each.name
                for each in self._servers.values()
                if each.name not in listed and _may_have_resources(each)
            ]
            server, uri = find_resource_server(uri, listed, self._servers, unsure)
        timeout = options.get("timeout", DEFAULT)
        client = await self._server(server).ready_for("resources/read", uri, None, timeout)
        return await client.read_resource(uri, **options)

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        server: str | None = None,
        **options: Unpack[QueryOptions],
    ) -> GetPromptResult:
        """Get a prompt by ``server:prompt``, or by its own name when ``server`` is given.

        For options and exceptions see `Client.get_prompt`. Also raises `UsageError` for a name
        that fits several servers.
        """
        if server is None:
            server, name = split_prompt_name(name, self._servers)
        timeout = options.get("timeout", DEFAULT)
        client = await self._server(server).ready_for("prompts/get", name, arguments, timeout)
        return await client.get_prompt(name, arguments, **options)

    async def _of_all(
        self, capability: str, ask: Callable[[Client], Coroutine[Any, Any, list[T]]]
    ) -> dict[str, list[T]]:
        """Ask every connected server that declares a capability, side by side."""
        asked = [
            server
            for server in self._servers.values()
            if server.is_connected and capability in server.client.capabilities
        ]
        outcomes = await gather_outcomes(ask(server.client) for server in asked)
        answers: dict[str, list[T]] = {}
        for server, outcome in zip(asked, outcomes):
            if isinstance(outcome, PeerError) and outcome.code == ErrorCode.METHOD_NOT_FOUND:
                continue  # servers need not implement the listing of templates
            if isinstance(outcome, McpError):
                _logger.warning("%s: listing its %s failed: %s", server.name, capability, outcome)
            else:
                answers[server.name] = outcome
        return answers


def _managed(kind: type[ItemT], found: Mapping[str, Iterable[WireObject]]) -> list[ItemT]:
    return [kind(each.raw, server) for server, listed in found.items() for each in listed]


def _may_have_resources(server: Server) -> bool:
    if server.is_connected:
        return "resources" in server.client.capabilities
    return server.status in (Status.CONNECTING, Status.RECONNECTING)
