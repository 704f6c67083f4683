"""Calling the tools of all servers, by the names that they have among each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ..client.connection.timeouts import DEFAULT, Seconds
from ..errors import UsageError
from ..net.futures import gather_outcomes
from ..protocol.types import CallToolResult
from ..suggestions import there_is_no
from .catalog import Catalog
from .naming import ToolNames
from .server import Server

if TYPE_CHECKING:
    from ..client.connection.client_options import CallOptions
    from ..client.tools import ToolOutcome
    from ..typing_compat import Unpack

T = TypeVar("T")


class Calls:
    """How a `Manager` calls tools."""

    _servers: dict[str, Server]
    _names: ToolNames
    _catalog: Catalog

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        returns: None = ...,
        **options: Unpack[CallOptions],
    ) -> CallToolResult: ...

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        returns: type[T],
        **options: Unpack[CallOptions],
    ) -> T: ...

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        returns: Any = None,
        **options: Unpack[CallOptions],
    ) -> Any:
        """Call a tool by its full name. The options are those of `Client.call_tool`.

        While its server is being connected, the call waits within its ``timeout``; a name that is
        not known yet waits for the server whose name it begins with. When the connection is lost,
        the call is repeated once where it surely did not run, or where a trusted server says that
        this does no harm; otherwise it fails with the reason.

        Raises `UsageError` for a name that no tool has, or whose server was removed,
        `ServerUnavailable` for a server that is disabled, denied, not approved or disconnected, and
        what `Client.call_tool` raises.
        """
        if self._names.owner(name) is None:
            await self._look_for(name, options.get("timeout", DEFAULT))
        server, tool = self._catalog.owner(name)
        if server not in self._servers:  # it was removed, and its tools' names are reserved for it
            raise UsageError(there_is_no("server", server, self._servers))
        client = self._servers[server].client
        if returns is None:
            return await client.call_tool(tool, arguments, **options)
        return await client.call_tool(tool, arguments, returns=returns, **options)

    async def _look_for(self, name: str, timeout: Seconds) -> None:
        """Wait for the server that a tool nobody has heard of may belong to."""
        server = self._servers.get(self._names.claimed_by(name) or "")
        if server is not None and not server.is_connected:
            await server.ready(timeout)

    async def call_tools(
        self,
        calls: Iterable[tuple[str, Mapping[str, Any] | None]],
        **options: Unpack[CallOptions],
    ) -> list[ToolOutcome]:
        """Call several tools, of any servers, at the same time; see `Client.call_tools`."""
        return await gather_outcomes(
            self.call_tool(name, arguments, **options) for name, arguments in calls
        )
