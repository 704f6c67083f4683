"""F-CONF-6: the table of the specification's duties names files and tests that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

from conformance.duties import DUTIES
from conformance.peers import TOP
from conformance.replay import FOLDER

TABLE = TOP / "conformance" / "COVERAGE.md"
NONE, LIVE = "none", "live"


class Duty(NamedTuple):
    """A row of the table."""

    text: str
    page: str
    rows: list[str]
    sessions: list[str]
    record: str


def duties() -> Iterator[Duty]:
    for line in TABLE.read_text("utf-8").splitlines():
        if line.startswith("| ") and not line.startswith("| duty"):
            text, page, rows, sessions, record = map(str.strip, line.split("|", 5)[1:6])
            record = record.rstrip("|").strip().strip("`")
            yield Duty(text, page, rows.split(", "), sessions.strip("`").split(), record)


def sessions() -> dict[str, str]:
    return {
        f"{path.parent.name}/{path.stem}": path.read_text("utf-8")
        for path in FOLDER.glob("*/*.jsonl")
    }


def test_each_duty_names_promises_that_stand() -> None:
    promises = (TOP / "tests" / "FEATURES.md").read_text("utf-8")
    known = set(re.findall(r"(?m)^\| ([A-Z]+-\d+) \|", promises))
    found = list(duties())
    assert len(found) > 100
    for duty in found:
        assert re.search(r"\b(MUST|SHOULD)\b", duty.text), duty
        assert duty.page, duty
        assert set(duty.rows) <= known, duty


def test_each_live_meeting_shows_a_duty() -> None:
    assert set(DUTIES) == {duty.record for duty in duties() if duty.sessions == [LIVE]}


def test_each_duty_is_shown_by_sessions_that_hold_it() -> None:
    recorded = sessions()
    missing = []
    for duty in duties():
        if duty.sessions == [NONE]:
            assert duty.record, duty  # why none
            continue
        if duty.sessions == [LIVE]:
            assert duty.record in DUTIES, duty
            continue
        for pattern in duty.sessions:
            texts = [text for name, text in recorded.items() if fnmatchcase(name, pattern)]
            if not any(re.search(duty.record, line) for text in texts for line in text.split("\n")):
                missing.append((pattern, len(texts), duty))
    assert not missing, missing


def test_what_no_session_shows_is_counted() -> None:
    """The number may only fall."""
    assert sum(duty.sessions == [NONE] for duty in duties()) <= 6
