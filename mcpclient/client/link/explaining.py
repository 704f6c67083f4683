"""What is known about a connection that could not be made, told by the error itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import CallTimeout, ConnectionLost, HttpError, McpError, ProtocolViolation
from ...on_demand import OnDemand
from ...transports.base import Transport
from .options import Options

if TYPE_CHECKING:
    from ... import cures
    from ...recording import redaction
else:
    redaction = OnDemand("...recording.redaction", __name__)
    cures = OnDemand("...cures", __name__)

__all__ = ["explain"]

_SHOWN_STDERR = 2000
_SIGNS_OF_TLS = ("was lost", "without answering", "does not answer in HTTP")


def explain(
    error: McpError,
    server: str,
    transport: Transport,
    stray_ids: tuple[object, ...],
    options: Options,
) -> None:
    """Add to an error of connecting which server it was, and what that wrote besides messages.

    That is shown without the values of its variables.
    """
    variables = options.env or {}
    if isinstance(error, CallTimeout) and error.limit == "connect":
        error.target = server
        error.stray_ids = stray_ids
        output, stderr = "\n".join(transport.skipped), transport.stderr_tail
        error.output = redaction.without_values(output, variables)
        error.stderr = redaction.without_values(stderr, variables)[-_SHOWN_STDERR:]
    elif isinstance(error, (ConnectionLost, ProtocolViolation)) and _is_no_http(error, transport):
        url = transport.description.replace("://", "s://", 1)
        error.reason += f"; if the server speaks TLS on this port, write {url}"
        error.advise(f"If the server speaks TLS on this port, write {url}")
    elif isinstance(error, ConnectionLost) and error.reason.startswith("No response received"):
        error.advise(cures.CHECK_ENDPOINT)
    elif isinstance(error, HttpError) and options.transport and _is_no_endpoint(error):
        error.advise(
            "Check the path of the URL (many end in /mcp or /sse), and the transport or type: only "
            f"{options.transport!r} was tried."
        )


def _is_no_endpoint(error: HttpError) -> bool:
    """Whether a server answered that speaks otherwise, or elsewhere."""
    return error.status in (400, 404, 405) and b"HTTPS" not in error.body


def _is_no_http(error: ConnectionLost | ProtocolViolation, transport: Transport) -> bool:
    """Whether an unencrypted connection ended, or went on, as one does with a server of TLS."""
    if not transport.description.startswith(("http://", "ws://")):
        return False
    return any(sign in error.reason for sign in _SIGNS_OF_TLS)
