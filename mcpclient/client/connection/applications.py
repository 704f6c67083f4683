"""Servers in memory: ASGI applications, and server objects of the Python SDK or of fastmcp."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from dataclasses import dataclass
from functools import partial
from typing import Any, Callable, Protocol

from ...errors import UsageError
from ...framing.uri import parse_url
from ...transports.asgi import AsgiTransport
from ...transports.http_messages import authorizer_in
from ...transports.inprocess import InProcessTransport, is_server_object, serve_object
from .options import Options, Route, refuse
from .url_routes import credentials_for, settings_of


class ServerObject(Protocol):
    """A server of the Python SDK, 1.x or 2.x, or of fastmcp, 2 to 4."""

    @property
    def name(self) -> str:
        """Its name."""
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


# An address accepted by servers that check the Host of a request, such as the Python SDK's.
_ORIGIN = "http://127.0.0.1:8000"


def route_to_application(target: Any, options: Options) -> Route | None:
    """Return the route to a server in memory; None for another target. Raises `UsageError`."""
    if is_server_object(target):
        refuse(options, ("auth", "headers", "env", "cwd", "sandbox"), "a server object")
        serve = serve_object(target)
        return Route(InProcessTransport(serve).description, None, lambda: InProcessTransport(serve))
    if isinstance(target, AsgiApp):
        return _to_asgi(target, options)
    if _is_asgi(target):
        return _to_asgi(AsgiApp(target), options)
    return None


def _is_asgi(target: Any) -> bool:
    """Whether it can be called with scope, receive and send."""
    if isinstance(target, type) or not callable(target):
        return False
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return len([each for each in parameters if each.kind in positional]) == 3


def _to_asgi(target: AsgiApp, options: Options) -> Route:
    refuse(options, ("env", "cwd", "sandbox"), "an ASGI application")
    if options.transport not in (None, "http"):
        raise UsageError(f"transport={options.transport!r} does not fit an ASGI application")
    url = parse_url(f"{_ORIGIN}/{target.path.lstrip('/')}")
    credentials = credentials_for(url, options)
    open_application = partial(
        AsgiTransport,
        url,
        target.app,
        options.network,
        listen_wait=options.listen_wait,
        liveness=options.liveness,
        **settings_of(options, credentials),
    )
    name = getattr(target.app, "__name__", type(target.app).__name__)
    authorizer = authorizer_in(credentials)
    shown = f"in-process {name} {url.path}"
    return Route(shown, None, open_application, authorizer=authorizer)
