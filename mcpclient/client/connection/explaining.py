"""Facts about a connection that could not be made, added to its error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import (
    CallTimeout,
    ConnectionLost,
    HttpError,
    LossKind,
    McpError,
    PeerError,
    ProtocolViolation,
    ViolationKind,
    lacks_stdin,
)
from ...lazy import OnDemand
from ...transports.base import Transport
from .options import IncompleteHeaders, Options
from .route import Route

if TYPE_CHECKING:
    from ...recording import redaction
else:
    redaction = OnDemand("...recording.redaction", __name__)

_SHOWN_STDERR = 2000
_SIGNS_OF_TLS = (LossKind.DROPPED, ViolationKind.NOT_HTTP)


def explain(
    error: McpError,
    server: str,
    transport: Transport,
    stray_ids: tuple[object, ...],
    options: Options,
    route: Route,
) -> None:
    """Add to an error of connecting which server it was, and what it wrote besides messages.

    That is shown without the values of its variables.
    """
    variables = options.env or {}
    if isinstance(error, CallTimeout) and error.limit == "connect":
        error.target = server
        error.stray_ids = stray_ids
        output, stderr = "\n".join(transport.skipped), transport.stderr_tail
        error.output = redaction.without_values(output, variables)
        error.stderr = redaction.without_values(stderr, variables)[-_SHOWN_STDERR:]
        command = route.destination
        error.reached = transport.reached
        error.lacks_stdin = isinstance(command, (list, tuple)) and lacks_stdin(command)
    elif isinstance(error, PeerError):
        error.target = server
    elif isinstance(error, (ConnectionLost, ProtocolViolation)) and error.kind in _SIGNS_OF_TLS:
        if transport.description.startswith(("http://", "ws://")):
            url = transport.description.replace("://", "s://", 1)
            error.advise(f"If the server speaks TLS on this port, write {url}")
    elif isinstance(error, HttpError) and error.status in (401, 403):
        if isinstance(options.headers, IncompleteHeaders) and options.headers.missing:
            names = ", ".join(options.headers.missing)
            error.advise(f"Set {names}: a header was left out, since it has no value.")
    elif isinstance(error, HttpError) and options.transport and _is_no_endpoint(error):
        error.advise(
            "Check the path of the URL (many end in /mcp or /sse), and the transport or type: only "
            f"{options.transport!r} was tried."
        )


def _is_no_endpoint(error: HttpError) -> bool:
    """Whether a server answered that speaks otherwise, or elsewhere."""
    return error.status in (400, 404, 405) and b"HTTPS" not in error.body
