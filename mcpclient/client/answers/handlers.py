"""The handlers of the server's requests, in either era, and the error responses to them."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Callable

from ...errors import HandlerFailed, McpError, NotOffered, PeerError, ProtocolViolation, UsageError
from ...framing.logs import logger_for
from ...jsonrpc.messages import ErrorCode
from ...lazy import OnDemand
from ..events.callbacks import Observer

if TYPE_CHECKING:
    from . import elicitation as elicitations
    from . import roots as rooted
    from . import sampling as samplings
else:
    elicitations = OnDemand(".elicitation", __name__)
    rooted = OnDemand(".roots", __name__)
    samplings = OnDemand(".sampling", __name__)

_logger = logger_for("mcpclient.client")

PAUSES_TIMEOUTS = frozenset({"elicitation/create", "sampling/createMessage"})
"""The requests that a human answers or approves. The server waits for that, so the timeouts of
this client's calls are paused meanwhile."""


class Handlers:
    """The caller's handlers, and the capabilities that they imply. ``ping`` is always answered."""

    def __init__(
        self,
        sampling: samplings.SamplingOption | None = None,
        elicitation: elicitations.ElicitationOption | None = None,
        roots: rooted.RootsOption | None = None,
    ) -> None:
        self._server = ""
        self._sampling = samplings.SamplingAnswerer(sampling) if sampling is not None else None
        self._elicitation = (
            elicitations.ElicitationAnswerer(elicitation) if elicitation is not None else None
        )
        self._roots = rooted.RootsAnswerer(roots) if roots is not None else None
        given = (self._sampling, self._elicitation, self._roots)
        self._answerers: dict[str, Any] = {each.method: each for each in given if each is not None}
        self._other: Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any]]] | None = None
        self._declared: Mapping[str, Any] = {}

    @property
    def capabilities(self) -> dict[str, Any]:
        """The capabilities to declare: one for each handler given."""
        if self._other is not None:
            return dict(self._declared)
        return {each.capability: each.settings for each in self._answerers.values()}

    @property
    def handshake_capabilities(self) -> dict[str, Any]:
        """Other settings for the handshake era, where roots may change in a session."""
        return {"roots": {"listChanged": True}} if self._roots is not None else {}

    def add(self, answerer: Any) -> None:
        """Register an answerer of one more method, an object like those made above."""
        self._answerers[answerer.method] = answerer

    def forward_to(
        self,
        other: Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any]]],
        capabilities: Mapping[str, Any],
    ) -> None:
        """Let another client answer all requests, and declare its capabilities."""
        self._other, self._declared = other, capabilities

    def attach(self, server: str, observers: list[Observer]) -> None:
        """Serve one connection. ``server``: the name of the server in questions to the user."""
        self._server = server
        if self._elicitation is not None:
            observers.append(self._elicitation)

    async def answer(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the result for a request of the server.

        Raises `NotOffered`, `ProtocolViolation` for a request that breaks the rules, and
        `HandlerFailed`.
        """
        if method == "ping":
            return {}
        if self._other is not None:
            return await self._other(method, params)
        answerer = self._answerers.get(method)
        if answerer is None:
            asked = f"the server asked for {method!r:.100}"
            raise NotOffered(f"{asked}, which this client does not offer")
        try:
            answer: Mapping[str, Any] = await answerer.answer(params, self._server)
        except HandlerFailed as failure:
            _log(failure)
            raise
        return answer

    async def ask_for_visits(self, elicitations: Iterable[Mapping[str, Any]]) -> bool:
        """Ask for the visits to URLs that a call needs. Return False if one was declined."""
        if self._elicitation is None:
            return False
        try:
            return await self._elicitation.ask_for_visits(elicitations, self._server)
        except HandlerFailed as failure:
            _log(failure)
            raise

    def set_roots(self, roots: rooted.RootsOption) -> None:
        """Replace the roots. Raises `UsageError` when none were declared."""
        if self._roots is None:
            raise UsageError("roots can be changed where they were given before: roots=[]")
        self._roots.replace(roots)


def _log(failure: HandlerFailed) -> None:
    _logger.error("%s", failure, exc_info=failure.__cause__)


def error_answer(error: McpError) -> tuple[int, str, Any]:
    """Return code, message and data of the error response, without anything secret."""
    if isinstance(error, PeerError):
        return error.code, error.message, error.data
    if isinstance(error, HandlerFailed):
        return error.code, error.reason, None
    if isinstance(error, NotOffered):
        return ErrorCode.METHOD_NOT_FOUND, error.reason, None
    if isinstance(error, ProtocolViolation):
        return ErrorCode.INVALID_PARAMS, error.reason, None
    return ErrorCode.INTERNAL_ERROR, "the client could not answer", None
