"""F-CONF-2: this library does what the reference clients did, as far as transcripts tell."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from conformance import replay
from conformance.replay import __main__ as command
from conformance.replay.chunkings import CHUNKINGS
from conformance.replay.differences import DIFFERENCES, Difference, Known
from conformance.replay.equivalences import HEADERS, PLACES
from conformance.replay.recorded import size_of
from conformance.results import FAILED, NOT_RUN, PASSED

SAMPLE = (
    "http/sdk1-sampling",
    "http/sdk1-resumable-resumed",
    "http/sdk2-asks-2026-07-28",
    "http/authorized-code",
    "sse/sdk1-progress",
    "ws/sdk1-cancel",
)


def is_as_recorded(name: str, chunking: int = 0) -> None:
    transcript = replay.transcripts([name])[name]
    report = asyncio.run(replay.replay(name, transcript, CHUNKINGS[chunking], Known()))
    assert report.findings == []
    assert report.checks > 5


# Real transcripts


@pytest.mark.parametrize("name", SAMPLE)
def test_the_library_does_what_the_reference_client_did(name: str) -> None:
    is_as_recorded(name)
    is_as_recorded(name, chunking=3)


@pytest.mark.needs_posix
def test_the_library_does_what_the_reference_client_did_over_stdio() -> None:
    is_as_recorded("stdio/sdk1-cancel")
    is_as_recorded("stdio/sdk1-cancel", chunking=1)


def test_every_transcript_is_played_in_three_ways() -> None:
    transcripts = replay.transcripts()
    assert len(transcripts) >= 60
    for name, transcript in transcripts.items():
        fitting = [chunking for chunking in CHUNKINGS if chunking.fits(size_of(transcript))]
        assert len(fitting) == 3, name


def test_a_run_has_a_row_for_each_meeting(capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(replay.run(["http/sdk1-terminated"]))
    assert [row.outcome for row in rows] == [PASSED] * 3
    assert {(row.revision, row.transport) for row in rows} == {("2025-11-25", "Streamable HTTP")}
    assert all(row.checks == row.held > 5 for row in rows)
    assert capsys.readouterr().err == ""


def test_the_command_says_what_it_did(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["replay", "http/sdk1-terminated"])
    assert command.main() == 0
    assert "; 3 of 3 meetings passed in " in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["replay", "no-such-transcript"])
    with pytest.raises(SystemExit):
        command.main()
    assert "no transcript has a name with no-such-transcript" in capsys.readouterr().err


# Differences and equivalences


def test_a_difference_that_was_not_met_fails_a_whole_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "http").mkdir()
    source = replay.FOLDER / "http" / "sdk1-terminated.jsonl"
    (tmp_path / "http" / source.name).write_text(source.read_text("utf-8"), "utf-8")
    monkeypatch.setattr(replay, "FOLDER", tmp_path)
    *rows, last = replay.run()
    assert [row.outcome for row in rows] == [PASSED] * 3
    assert last.outcome == FAILED
    assert "never met: the session is ended with DELETE, " in last.detail


def test_differences_and_equivalences_have_names_of_their_own_and_reasons() -> None:
    names = [item.name for item in (*DIFFERENCES, *PLACES, *HEADERS)]
    assert len(set(names)) == len(names)
    assert all(item.why.endswith(".") for item in DIFFERENCES)
    assert all(item.reason.endswith(".") for item in (*PLACES, *HEADERS))


def test_a_known_difference_is_no_finding() -> None:
    known = Known([Difference("it", "http/*", "^never sent: ping$", "", "", "")])
    assert known.explains("http/one", "never sent: ping")
    assert not known.explains("stdio/one", "never sent: ping")
    assert not known.explains("http/one", "never sent: pings")
    assert known.met == {"it": 1}


def test_what_the_system_cannot_play_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "can_hand_over", lambda: False)
    (row, *_) = replay.run(["stdio/sdk1-cancel"])
    assert row.outcome == NOT_RUN
    assert "needs sockets that pass files" in row.detail
