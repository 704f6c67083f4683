"""F-SHOW-10, F-AUTH-12: what the page is told: names, and no value that is secret."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from mcpclient import Client, ConnectFailed, OAuth, UsageError
from mcpclient.framing.headers import Headers
from mcpclient.inspector.described import (
    described_call,
    described_client,
    described_error,
    described_recording,
)
from mcpclient.recording.conversation import Call, Failed, Heard, Refused
from tests.inspector.recorded import recording
from tests.inspector.showcase import Showcase


def test_no_value_of_a_header_or_a_variable_is_told() -> None:
    """F-AUTH-12: nor the token, nor what stands in the query."""
    clients = [
        Client("https://h.example/mcp?key=s3cret", headers={"X-Mine": "s3cret"}),
        Client("https://h.example/mcp", auth="s3cret", headers=lambda: {"X": "s3cret"}),
        Client("https://h.example/mcp", auth=OAuth(client_id="me")),
        Client([sys.executable, "--key", "s3cret"], env={"API_KEY": "s3cret"}),
    ]
    told = [described_client(client) for client in clients]
    assert "s3cret" not in json.dumps(told)
    assert told[0]["headers"] == ["X-Mine"]
    assert told[1]["headers_are_computed"]
    assert [each["auth"] for each in told] == [None, "a bearer token", "OAuth", None]
    assert (told[3]["env"], told[3]["inherit_env"]) == (["API_KEY"], "safe")
    assert (told[0]["transport"], told[0]["version"], told[0]["era"]) == (None, None, None)


@pytest.mark.virtual_time
async def test_a_connected_client() -> None:
    showcase = Showcase()
    async with Client(showcase.transport, protocol_version="2025-11-25", roots=[]) as client:
        told = described_client(client)
    assert told["server"] == {"name": "showcase", "version": "1"}
    assert (told["era"], told["answers"]) == ("handshake", ["roots"])
    assert told["instructions"] == "Search first, then read."


def test_an_error_comes_with_its_hint_and_without_secrets() -> None:
    error = ConnectFailed("https://h/mcp?key=s3cret", "refused ?token=s3cret")
    told = described_error(error)
    assert told is not None
    assert told["type"] == "ConnectFailed"
    assert "s3cret" not in json.dumps(told)
    assert told["hint"] == error.hint
    assert described_error(None) is None
    assert described_error(UsageError("x")) == {"hint": None, "type": "UsageError", "text": "x"}


def test_a_recorded_server(tmp_path: Path) -> None:
    opening = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "old"},
        "instructions": "do",
    }
    made = recording(tmp_path / "r.jsonl", ("initialize", {}, opening))
    told = described_recording(made.transcripts[0].header, made.conversation)
    assert (told["target"], told["transport"]) == ("npx x", "stdio")
    assert (told["server"], told["era"], told["instructions"]) == (
        {"name": "old"},
        "handshake",
        "do",
    )


def test_a_recorded_server_of_the_stateless_era(tmp_path: Path) -> None:
    meta = {"io.modelcontextprotocol/serverInfo": {"name": "new"}}
    answer = {"supportedVersions": ["2026-07-28"], "capabilities": {}, "_meta": meta}
    made = recording(tmp_path / "r.jsonl", ("server/discover", {}, answer))
    told = described_recording(made.transcripts[0].header, made.conversation)
    assert (told["version"], told["era"], told["server"]) == (
        "2026-07-28",
        "stateless",
        {"name": "new"},
    )


def test_a_recording_without_an_opening(tmp_path: Path) -> None:
    made = recording(tmp_path / "r.jsonl", ("ping", {}, {}))
    told = described_recording(made.transcripts[0].header, made.conversation)
    assert (told["version"], told["era"], told["server"], told["capabilities"]) == (
        *(None, None, {}, {}),
    )


def test_failures_are_outcomes_of_calls() -> None:
    """F-SHOW-16: as results and errors are."""
    calls = [
        Call({"id": 1, "method": "a", "params": {"x": 1}}, 1.0, ended_at=2.0) for _ in range(4)
    ]
    calls[0].steps.append(Heard({"id": 1, "result": {"v": 1}}))
    calls[1].steps.append(Refused(404, Headers(), b"", False))
    calls[2].steps.append(Failed({"type": "ConnectionLost"}))
    outcomes = [described_call(call)["outcome"] for call in calls]
    assert outcomes == [{"v": 1}, {"http": 404}, {"type": "ConnectionLost"}, None]
    assert described_call(calls[0])["params"] == {"x": 1}
