"""What stands before calls of servers with pins or filters: F-MANY-13, F-MANY-16."""

from __future__ import annotations

import pytest

from mcpclient.client.events.around import Call
from mcpclient.errors import ConnectFailed
from mcpclient.manager.guard import Guard
from mcpclient.protocol.types import CallToolResult
from tests.support.virtual_time import run


class Place:
    """A server that learns only when it is connected that a tool is not to be called."""

    def __init__(self, error: Exception | None = None) -> None:
        self.waited = 0
        self._error = error

    async def ready(self) -> None:
        self.waited += 1
        if self._error is not None:
            raise self._error

    def refusal_of(self, tool: str) -> str | None:
        return "its definition is another one" if self.waited and tool == "bad" else None


async def make(call: Call) -> CallToolResult:
    return CallToolResult({"content": [{"type": "text", "text": "made"}]})


def outcome(place: Place, tool: str) -> CallToolResult:
    return run(Guard(place, place)(Call("a", tool, f"a__{tool}", {}), make))


def test_it_looks_after_the_server_is_connected() -> None:
    """F-MANY-14, F-MANY-16: what is remembered may not be what the server offers now."""
    place = Place()
    refused = outcome(place, "bad")
    assert refused.is_error
    assert refused.text == "a__bad was not called: its definition is another one"
    assert outcome(place, "good").text == "made"
    assert place.waited == 2


def test_a_server_that_cannot_be_connected() -> None:
    with pytest.raises(ConnectFailed):
        outcome(Place(ConnectFailed("a", "refused")), "good")
