"""Calls made at the same time, where one request does not complete each of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

import mcpclient
from mcpclient.client.requests import connection_of
from tests.client.scripted_server import HANDSHAKE, ScriptedServer

pytestmark = pytest.mark.virtual_time

FORM = {"mode": "form", "message": "who?", "requestedSchema": {"type": "object", "properties": {}}}


class Server(ScriptedServer):
    """Answers calls with results by the names of tools, side by side; ``never`` it never answers.

    A result may be a function of the params. ``cancelled``: the ids of cancelled requests.
    """

    def __init__(self, **results: Any) -> None:
        super().__init__({"tools/call": self._call}, version=HANDSHAKE)
        self.era = "both"
        self._results = results

    @property
    def cancelled(self) -> list[Any]:
        return [params["requestId"] for params in self.sent("notifications/cancelled")]

    def _call(self, params: Mapping[str, Any]) -> Any:
        if params["name"] == "never":
            return None
        result = self._results.get(params["name"], text(params["name"]))
        return result(params) if callable(result) else result

    def opened(self, version: str = "2025-11-25", **options: Any) -> mcpclient.Client:
        transport = mcpclient.InProcessTransport(self.serve)
        return mcpclient.connect(transport, protocol_version=version, **options)


def calls(*names: str) -> list[tuple[str, Mapping[str, Any] | None]]:
    return [(name, None) for name in names]


def told(outcomes: list[Any]) -> list[str]:
    return [each.text if hasattr(each, "text") else type(each).__name__ for each in outcomes]


def text(said: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}]}


def asks(params: Mapping[str, Any]) -> dict[str, Any]:
    """A result that asks the user, until it has been answered."""
    if "inputResponses" in params:
        return text(params["name"])
    asked = {"who": {"method": "elicitation/create", "params": FORM}}
    return {"resultType": "input_required", "inputRequests": asked, "requestState": "s"}


async def test_input_that_is_not_given_fails_its_call_only() -> None:
    """F-API-12"""
    server = Server(asks=asks, odd={"resultType": "unheard-of"})
    async with server.opened("2026-07-28") as client:
        outcomes = await client.call_tools(calls("asks", "plain", "odd"))
        assert told(outcomes) == ["NotOffered", "plain", "ProtocolViolation"]


@pytest.mark.parametrize("first", ["never", "quick"])
async def test_cancelling_cancels_them_all(first: str) -> None:
    """F-API-8: the server is notified of each that it has not answered, once."""
    server = Server()
    async with server.opened() as client:
        names = (first, "never", "quick", "never")
        work = asyncio.ensure_future(client.call_tools(calls(*names)))
        await asyncio.sleep(1)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        await asyncio.sleep(1)
        assert connection_of(client).session.in_flight == 0
        assert len(server.cancelled) == names.count("never")
        assert len(set(server.cancelled)) == len(server.cancelled)


async def test_arguments_that_cannot_be_sent_fail_their_call_only() -> None:
    """F-API-2"""
    async with Server().opened() as client:
        outcomes = await client.call_tools([("a", {}), ("b", {"x": float("nan")}), ("c", {})])
        assert told(outcomes) == ["a", "UsageError", "c"]
        assert connection_of(client).session.in_flight == 0
