"""F-CONF-7: what goes over the wire is judged by the specification's own schemas."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

import mcpclient
from conformance import judged, replay, traces
from conformance.published import REVISIONS
from conformance.results import FAILED, PASSED, Row

NAMES = ("stdio/sdk1-cancel", "http/sdk1-sampling")
SERVER = [sys.executable, "-m", "mcpclient.testing.demo_server"]


def specification(folder: Path, required: str) -> Path:
    """Write schemas in which a call needs a member, and return their folder."""
    anything = {"type": "object"}
    call = {"properties": {"method": {"const": "tools/call"}}, "required": [required]}
    definitions = {"Result": anything, "JSONRPCMessage": anything, "CallToolRequest": call}
    for revision in REVISIONS:
        (folder / "schema" / revision).mkdir(parents=True)
        file = folder / "schema" / revision / "schema.json"
        file.write_text(json.dumps({"$defs": definitions}), "utf-8")
    return folder


def rows(folder: Path, monkeypatch: pytest.MonkeyPatch, *names: str) -> dict[str, Row]:
    some = {name: replay.transcripts([name])[name] for name in names}
    monkeypatch.setattr(replay, "transcripts", lambda: some)
    return {row.name.partition(", by")[0]: row for row in judged.run(folder)}


@pytest.mark.parametrize(("required", "outcome"), [("params", PASSED), ("more", FAILED)])
def test_each_message_is_judged_by_its_definition(
    required: str, outcome: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = rows(specification(tmp_path, required), monkeypatch, *NAMES)
    sent = found["sent by this library, replay, 2025-11-25 over stdio"]
    assert sent.outcome == outcome
    assert sent.checks > 4
    assert ("tools/call: " in sent.detail) == (outcome == FAILED)
    assert found["received, replay, 2025-11-25 over Streamable HTTP"].outcome == PASSED


@pytest.mark.slow
@pytest.mark.parametrize(("required", "outcome"), [("params", PASSED), ("more", FAILED)])
def test_what_meetings_leave_is_judged_as_well(
    required: str, outcome: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a connection of a part, and of a bridge both what its server and what its host hears."""

    async def call() -> None:
        bridge = traces.tapped("bridged", [sys.executable, "-m", "mcpclient", "bridge"], "--trace")
        async with mcpclient.connect(SERVER, trace=traces.new("live")) as client:
            await client.call_tool("echo", {"message": "hi"})
        command = [*bridge, "--quiet", "--", *SERVER]
        async with mcpclient.connect(command, protocol_version="2026-07-28") as client:
            await client.call_tool("echo", {"message": "hi"})

    with traces.kept():
        asyncio.run(call())
        parts = sorted(each.part for each in traces.traffic())
        found = rows(specification(tmp_path, required), monkeypatch)
    assert parts == ["bridged", "bridged", "live"]
    for part in ("live", "bridged"):
        assert found[f"sent by this library, {part}, 2026-07-28 over stdio"].outcome == outcome
    # The bridge's host is this library, too: the call that the bridge heard has the same fault.
    assert found["received, bridged, 2026-07-28 over stdio"].outcome == outcome
    assert found["received, live, 2026-07-28 over stdio"].outcome == PASSED
