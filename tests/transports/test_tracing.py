"""F-SHOW-6: the wire trace, one JSON record per message, secrets replaced."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

import mcpclient
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.base import Abandoned
from mcpclient.transports.inprocess import InProcessTransport, ServerEnd, answering
from mcpclient.transports.tracing import TracingTransport
from tests.support.virtual_time import run


def answer(method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
    if method == "initialize":
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "serverInfo": {"name": "traced", "version": "1"},
        }
    return {"content": [], "structuredContent": {"api_key": "s3cret"}}


def test_a_whole_session_is_traced_and_holds_no_secret() -> None:
    lines: list[str] = []

    async def session() -> None:
        async with mcpclient.connect(
            InProcessTransport(answering(answer)),
            protocol_version="2025-11-25",
            trace=lines.append,
        ) as client:
            result = await client.call_tool("login", {"password": "s3cret"})
            assert result.structured == {"api_key": "s3cret"}
            assert client.transport_name == "in-process"

    run(session())
    assert "s3cret" not in "".join(lines)
    records = [json.loads(line) for line in lines]
    assert all(line.endswith("\n") for line in lines)
    assert {record["channel"] for record in records} == {"in-process"}
    assert [record["time"] for record in records] == sorted(record["time"] for record in records)
    methods = [
        (record["direction"], record["message"].get("method"))
        for record in records
        if "message" in record
    ]
    assert methods == [
        ("sent", "initialize"),
        ("received", None),
        ("sent", "notifications/initialized"),
        ("sent", "tools/call"),
        ("received", None),
    ]
    assert records[-1]["closed"]


class Carrying(InProcessTransport):
    """Pretends to have headers and streams."""

    carries_headers = True

    def abandon(self, outgoing: Outgoing) -> Abandoned:
        return Abandoned.STREAM_CLOSED


def test_headers_failures_and_what_is_abandoned_are_recorded() -> None:
    lines: list[str] = []
    heard: list[Any] = []

    class Above:
        def message_received(self, message: Any) -> None:
            heard.append(message)

        def message_rejected(self, error: Any, request_id: Any) -> None:
            heard.append((error, request_id))

        def request_failed(self, request_id: Any, error: Any) -> None:
            heard.append((request_id, error))

        def connection_lost(self, error: Any) -> None:
            heard.append(error)

    async def serve(end: ServerEnd) -> None:
        async for _ in end:
            pass

    async def session() -> None:
        transport = TracingTransport(Carrying(serve), lines.append)
        await transport.open(Above())
        await transport.listen({})
        outgoing = Outgoing({"id": 1, "method": "x"}, headers={"Mcp-Method": "x"})
        outgoing.caller_headers = {"Authorization": "Bearer s3cret"}
        transport.send(outgoing)
        assert transport.abandon(outgoing) is Abandoned.STREAM_CLOSED
        violation, lost = mcpclient.ProtocolViolation("bad"), mcpclient.ConnectionLost("gone")
        transport.message_rejected(violation, 1)
        transport.request_failed(2, lost)
        transport.connection_lost(lost)
        assert heard == [(violation, 1), (2, lost), lost]
        assert transport.description == "in-process serve"
        await transport.close()
        transport.abort()

    run(session())
    records = [json.loads(line) for line in lines]
    assert records[1]["headers"] == {"Mcp-Method": "x", "Authorization": "[redacted]"}
    assert records[2]["abandoned"] == 1
    assert [record.get("error") for record in records[3:6]] == ["bad", "gone", "gone"]


@pytest.mark.filterwarnings("ignore")
def test_a_trace_that_cannot_be_written_harms_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def full(line: str) -> None:
        raise OSError("no space left on device")

    async def session() -> None:
        async with mcpclient.connect(InProcessTransport(answering(answer)), trace=full) as client:
            assert (await client.call_tool("x")).structured is not None

    run(session())
    assert "the trace could not be written" in caplog.text
