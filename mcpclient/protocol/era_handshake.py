"""The handshake era, revisions 2024-11-05 to 2025-11-25: a session opened by ``initialize``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..jsonrpc import messages
from ..jsonrpc.messages import Message, RequestId
from .era import REPEATABLE, ClientIdentity, EraRules, Params
from .outgoing import Cancel, Outgoing


class HandshakeEra(EraRules):
    """The rules for wording a call after, and during, the handshake.

    ``version`` is the revision agreed on; while it is being negotiated (``agreed=False``), no
    version header is sent. ``headers``: what every HTTP request of the session carries.
    """

    allows_server_requests = True
    ping_method = "ping"
    repeats_log_level = False
    caches_answers = False
    listens_with_a_request = False
    tasks_are_an_extension = False
    header_parameters = None

    def __init__(self, version: str, identity: ClientIdentity, *, agreed: bool = True) -> None:
        self.version = version
        self._identity = identity
        self.headers: dict[str, str] = {"MCP-Protocol-Version": version} if agreed else {}
        self.channel_headers = self.headers

    def initialize_params(self) -> Params:
        """Return the params of ``initialize``, offering this era's version."""
        own = self._identity
        return {
            "protocolVersion": self.version,
            "capabilities": {**own.capabilities, **own.handshake_capabilities},
            "clientInfo": own.info,
        }

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

    def opening_request(self, request_id: RequestId) -> Outgoing:
        """Return ``initialize``."""
        return self.request(request_id, "initialize", self.initialize_params(), None)

    def notification(self, method: str, params: Params | None) -> Outgoing:
        """Return a notification."""
        return Outgoing(messages.notification(method, params), headers=self.headers)

    def answer(self, message: Message) -> Outgoing:
        """Return the answer to a request of the server's."""
        return Outgoing(message, headers=self.headers)

    def input_requests(
        self, method: str, result: Mapping[str, Any], *, takes_tasks: bool
    ) -> Mapping[str, Any] | None:
        """Return None: every result is complete, and ``resultType`` is a field like any other."""
        return None
