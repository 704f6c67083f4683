"""F-CONF-7: what this library sends is judged by the specification's own schemas."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance import judged, replay
from conformance.published import REVISIONS
from conformance.results import FAILED, LEFT_OUT, PASSED

NAMES = ("stdio/sdk1-cancel", "http/sdk1-sampling")


def schema(required: str) -> dict[str, object]:
    anything: dict[str, object] = {"type": "object"}
    call = {"properties": {"method": {"const": "tools/call"}}, "required": [required]}
    return {"$defs": {"Result": anything, "JSONRPCMessage": anything, "CallToolRequest": call}}


@pytest.mark.parametrize(("required", "outcome"), [("params", PASSED), ("more", FAILED)])
def test_each_message_is_judged_by_its_definition(
    required: str, outcome: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for revision in REVISIONS:
        (tmp_path / "schema" / revision).mkdir(parents=True)
        file = tmp_path / "schema" / revision / "schema.json"
        file.write_text(json.dumps(schema(required)), "utf-8")
    some = {name: found for name, found in replay.transcripts(NAMES).items() if name in NAMES}
    monkeypatch.setattr(replay, "transcripts", lambda: some)
    rows = list(judged.run(tmp_path))
    found = {row.name.partition(", by")[0]: row for row in rows}
    sent = found["sent by this library, 2025-11-25"]
    assert sent.outcome == outcome
    assert sent.checks > 5
    assert ("tools/call: " in sent.detail) == (outcome == FAILED)
    assert found["received from the servers, 2025-11-25"].outcome == PASSED


def test_without_the_specification_nothing_is_judged(tmp_path: Path) -> None:
    (row,) = judged.run(tmp_path)
    assert row.outcome == LEFT_OUT
