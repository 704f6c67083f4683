"""What a server may ask, and who answers: F-API-10 (and F-AUTH-12)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import pytest

from mcpclient.client.answers.answerers import Elicitation
from mcpclient.client.answers.inbound_requests import Handlers, error_answer
from mcpclient.client.events.callbacks import Observer
from mcpclient.errors import (
    ConnectionLost,
    HandlerFailed,
    McpError,
    NotOffered,
    PeerError,
    ProtocolViolation,
    UsageError,
)
from mcpclient.protocol.elicitation import ElicitationRequest

CREATE = "elicitation/create"
FORM = {
    "message": "Who?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
}
VISIT = {
    "mode": "url",
    "url": "https://example.com/",
    "elicitationId": "1",
    "message": "Please visit",
}


def answer(handlers: Handlers, method: str, params: Mapping[str, Any] | None = None) -> Any:
    return asyncio.run(handlers.answer(method, params or {}))


def test_what_is_logged_of_a_servers_words_is_harmless(caplog: pytest.LogCaptureFixture) -> None:
    """F-SHOW-3: the reason may quote what the server asked for."""

    class Quoting:
        async def answer(self, params: Mapping[str, Any], server: str) -> Mapping[str, Any]:
            raise HandlerFailed("elicitation/create", "there is no field \x1b[2J")

    handlers = Handlers()
    handlers._answerers[CREATE] = Quoting()
    with pytest.raises(HandlerFailed, match=r"no field \\x1b\[2J"):
        answer(handlers, "elicitation/create", FORM)
    assert r"no field \x1b[2J" in caplog.text and "\x1b" not in caplog.text
    with pytest.raises(NotOffered, match=r"'a\\x1bb'"):
        answer(handlers, "a\x1bb")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (PeerError(-1, "no", {"why": 1}), (-1, "no", {"why": 1})),
        (HandlerFailed("roots/list", "it said no", -5), (-5, "it said no", None)),
        (NotOffered("never heard of it"), (-32601, "never heard of it", None)),
        (ProtocolViolation("bad params"), (-32602, "bad params", None)),
        (ConnectionLost("s3cret"), (-32603, "the client could not answer", None)),
        (UsageError("s3cret"), (-32603, "the client could not answer", None)),
    ],
)
def test_what_the_server_is_told(error: McpError, told: tuple[int, str, Any]) -> None:
    """F-API-10: every failure has a code, and nothing of the client's inside gets out."""
    assert error_answer(error) == told


@pytest.mark.parametrize("visit", [False, True])
def test_a_failing_handler_is_logged_and_tells_the_server_nothing_private(
    visit: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """F-AUTH-12, F-API-10: the text of the host's exception stays in the host's log."""

    def fail(request: object) -> bool:
        raise KeyError("s3cret")

    handlers = Handlers(elicitation=Elicitation(form=fail, url=fail))
    asking = handlers.ask_for_visits([VISIT]) if visit else handlers.answer(CREATE, FORM)
    with caplog.at_level(logging.ERROR, "mcpclient.client"), pytest.raises(HandlerFailed) as caught:
        asyncio.run(asking)
    code, text, data = error_answer(caught.value)
    assert (code, data) == (-32603, None)
    assert "s3cret" not in text
    assert "s3cret" in caplog.text


def test_a_connection_is_served() -> None:
    """F-API-10: a user is told who asks, and what the era allows is declared."""
    heard: list[str] = []

    def form(request: ElicitationRequest) -> dict[str, str]:
        heard.append(request.server)
        return {"name": "Ada"}

    handlers = Handlers(elicitation=form, roots=[])
    observers: list[Observer] = []
    handlers.attach("https://h/", observers)
    assert len(observers) == 2
    answer(handlers, "elicitation/create", FORM)
    assert heard == ["https://h/"]
    assert handlers.handshake_capabilities == {"roots": {"listChanged": True}}
    Handlers().attach("x", observers)
    assert len(observers) == 3
    assert Handlers().handshake_capabilities == {}
