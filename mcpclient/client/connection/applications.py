"""Programs as targets: an ASGI application, or a server object of the Python SDK or of fastmcp."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, Callable, Protocol


class ServerObject(Protocol):
    """A server of the Python SDK, 1.x or 2.x, or of fastmcp, 2 to 4."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    def run(self, *arguments: Any, **options: Any) -> Any:
        """Serve."""
        ...


@dataclass(frozen=True)
class AsgiApp:
    """An ASGI application as a target, where its MCP endpoint is not at ``/mcp``.

    ``app``: the application, such as one of Starlette or FastAPI. ``path``: its endpoint.
    """

    app: Callable[[Any, Any, Any], Awaitable[None]]
    path: str = "/mcp"
