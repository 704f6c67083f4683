"""The two eras: how each words a call.

Sources: the lifecycle pages of revisions 2024-11-05 to 2025-11-25; the base protocol's ``_meta``
section and the Streamable HTTP page's "Request Metadata" of revision 2026-07-28.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..jsonrpc import messages
from ..jsonrpc.codec import VerbatimObject, encode
from ..jsonrpc.messages import Message, RequestId
from .negotiation import PROBE, REPEATABLE, ClientIdentity, EraRules, Params, input_requests_of
from .outgoing import Cancel, Outgoing

if TYPE_CHECKING:
    from .header_parameters import HeaderParameters


class HandshakeEra(EraRules):
    """The handshake era, revisions 2024-11-05 to 2025-11-25: a session opened by ``initialize``.

    ``version`` is the revision agreed on; while it is being negotiated (``agreed=False``), no
    version header is sent. ``headers``: what every HTTP request of the session carries.
    """

    is_stateless = False

    def __init__(self, version: str, identity: ClientIdentity, *, agreed: bool = True) -> None:
        self.headers: dict[str, str] = {"MCP-Protocol-Version": version} if agreed else {}
        self.channel_headers: Mapping[str, str] | None = self.headers
        params = {
            **identity.opening,
            "protocolVersion": version,
            "capabilities": {**identity.capabilities, **identity.handshake_capabilities},
            "clientInfo": identity.info,
        }
        super().__init__(version, self.headers, ("initialize", params))

    def request(
        self, request_id: RequestId, method: str, params: Params | None, log_level: str | None
    ) -> Outgoing:
        """Return a request. The log level is the session's here, so it is not sent along."""
        initializes = method == "initialize"
        # A call that asks to become a task can only be cancelled by tasks/cancel.
        asks_for_task = method == "tools/call" and params is not None and "task" in params
        return Outgoing(
            messages.request(request_id, method, params),
            headers=self.headers,
            cancel=Cancel.NOT_ALLOWED if initializes or asks_for_task else Cancel.NOTIFY,
            resumable=True,
            repeatable=method in REPEATABLE,
            opens_session=initializes,
            in_session=not initializes,
        )


_PREFIX = "io.modelcontextprotocol/"

# Which param a request's Mcp-Name header repeats.
_NAMED_BY = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    # The tasks extension, "Routing Headers": so that the server that holds the task is reached.
    **dict.fromkeys(("tasks/get", "tasks/update", "tasks/cancel"), "taskId"),
}


class StatelessEra(EraRules):
    """The stateless era, revision 2026-07-28: each request names the client and the revision."""

    is_stateless = True

    def __init__(self, version: str, identity: ClientIdentity) -> None:
        super().__init__(version, self._mirror, (PROBE, None))
        self._header_parameters: HeaderParameters | None = None
        meta = {
            _PREFIX + "protocolVersion": version,
            _PREFIX + "clientInfo": identity.info,
            _PREFIX + "clientCapabilities": identity.capabilities,
        }
        probe = encode({"method": PROBE, "params": meta})
        # Encoded once for all requests, which takes a third of a request.
        self._meta = VerbatimObject(meta, probe.partition(b'"params":')[2][:-1])

    def request(
        self, request_id: RequestId, method: str, params: Params | None, log_level: str | None
    ) -> Outgoing:
        """Return a request with its metadata, and the headers that mirror it."""
        full: Message
        if isinstance(params, VerbatimObject):  # another client's, which has all of that
            full = params
        else:
            full = {**params} if params else {}
            given = full.pop("_meta", None)
            if given is None and log_level is None:
                full["_meta"] = self._meta
            else:
                # The caller cannot replace the revision, since a header repeats it.
                version = {_PREFIX + "protocolVersion": self.version}
                full["_meta"] = meta = {**self._meta, **(given or {}), **version}
                if log_level is not None:
                    meta.setdefault(_PREFIX + "logLevel", log_level)
        return Outgoing(
            messages.request(request_id, method, full),
            headers=self._mirror,
            cancel=Cancel.NOT_ALLOWED if method == PROBE else Cancel.CLOSE_STREAM,
            repeatable=method in REPEATABLE,
            in_session=False,
            stays_open=method == "subscriptions/listen",
        )

    @property
    def header_parameters(self) -> HeaderParameters:
        """The tool arguments that are mirrored in headers."""
        if self._header_parameters is None:
            from .header_parameters import HeaderParameters

            self._header_parameters = HeaderParameters()
        return self._header_parameters

    def _mirror(self, message: Message) -> dict[str, str]:
        headers, method = {"MCP-Protocol-Version": self.version}, message.get("method")
        if method is not None:
            headers["Mcp-Method"] = method
        if method in _NAMED_BY:
            repeated, params = self.header_parameters, message["params"]
            name, is_call = params.get(_NAMED_BY[method]), method == "tools/call"
            if isinstance(name, str):
                headers["Mcp-Name"] = repeated.encode_name(name, is_tool=is_call)
            if is_call:
                headers.update(repeated.for_call(params))
        return headers

    def input_requests(
        self, method: str, result: Mapping[str, Any], *, takes_tasks: bool
    ) -> Mapping[str, Any] | None:
        """Return the requests for input that a result holds, as its ``resultType`` says."""
        if takes_tasks and method == "tools/call" and result.get("resultType") == "task":
            return None
        return input_requests_of(method, result)
