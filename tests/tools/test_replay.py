"""F-CONF-2: this library acts as the reference clients did, as far as transcripts tell."""

from __future__ import annotations

import asyncio
import fnmatch
import re

import pytest

import mcpclient
from conformance import replay
from conformance.replay import __main__ as command
from conformance.replay import stdio_peer
from conformance.replay.chunkings import CHUNKINGS
from conformance.replay.differences import DIFFERENCES, Difference, Known
from conformance.replay.eras import begin_meeting, memories_apart
from conformance.results import PASSED
from mcpclient.protocol.negotiation import Era


def is_as_recorded(name: str, chunking: int = 0) -> None:
    transcript = replay.transcripts([name])[name]
    report = asyncio.run(replay.replay(name, transcript, CHUNKINGS[chunking]))
    assert report.findings == []
    assert report.checks > 5


def test_the_library_does_what_the_reference_clients_did(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-CONF-4: and in the scenarios of the official suite what that has accepted."""
    monkeypatch.setattr(replay, "chunkings_of", lambda _: CHUNKINGS[:1])
    rows = replay.run_here(replay.names_of())
    assert [str(row) for row in rows if row.outcome != PASSED] == []
    assert min(row.checks for row in rows) > 3
    # Nothing may differ from the suite's own run.
    assert not any(row.accepted for row in rows if row.name.startswith("official/"))


def test_a_transcript_is_as_recorded_however_it_is_cut() -> None:
    is_as_recorded("http/sdk1-sampling", chunking=3)
    is_as_recorded("stdio/sdk1-cancel", chunking=1)


def test_where_pipes_cannot_be_opened_they_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows and macOS."""
    monkeypatch.setattr(stdio_peer, "can_open_pipes", lambda: False)
    for name in ("stdio/sdk1-cancel", "stdio/sdk1-progress"):
        is_as_recorded(name)
        is_as_recorded(name, chunking=1)


def test_the_command_says_what_it_did(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["replay", "http/sdk1-terminated"])
    assert command.main() == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert re.fullmatch(
        "1 of 1 sessions passed: [0-9]+ checks, each in several chunkings, "
        "[0-9]+ accepted differences, in [0-9]+s",
        last,
    )
    monkeypatch.setattr("sys.argv", ["replay", "no-such-transcript"])
    with pytest.raises(SystemExit):
        command.main()
    assert "no transcript has a name with no-such-transcript" in capsys.readouterr().err


def test_each_known_difference_names_a_session_and_each_pattern_does() -> None:
    sessions = replay.names_of()
    for item in DIFFERENCES:
        for pattern in [*item.sessions.split(), *item.but_not.split()]:
            assert fnmatch.filter(sessions, pattern), f"{item.name}: {pattern}"
        assert any(map(item.names, sessions)), item.name


def test_a_known_difference_is_no_finding_where_it_is_known() -> None:
    item = Difference(
        "it", "http/*", ("^never sent: ping$", "^late"), "", "", "", but_not="http/two"
    )
    known = Known("http/one", [item])
    assert known.explains("never sent: ping")
    assert not known.explains("never sent: pings")
    assert known.met == {"it": 1}
    assert list(known.unmet()) == ["it (^late)"]
    for session in ("stdio/one", "http/two"):
        assert not Known(session, [item]).explains("never sent: ping")
        assert not list(Known(session, [item]).unmet())


def test_what_a_meeting_learns_of_a_server_is_its_own() -> None:
    """F-CONF-2: a port is used again by a server of the other era."""

    async def meeting(era: Era) -> Era | None:
        begin_meeting()
        memory = mcpclient.Client._eras
        before = memory.recall("http://127.0.0.1:1/mcp")
        memory.remember("http://127.0.0.1:1/mcp", era)
        await asyncio.sleep(0)
        assert memory.recall("http://127.0.0.1:1/mcp") is era
        return before

    async def main() -> list[Era | None]:
        return [*await asyncio.gather(meeting(Era.STATELESS), meeting(Era.HANDSHAKE))]

    with memories_apart():
        assert asyncio.run(main()) == [None, None]
    assert mcpclient.Client._eras.recall("http://127.0.0.1:1/mcp") is None


def test_a_difference_that_does_not_occur_in_a_session_fails_it() -> None:
    name = "http/sdk1-terminated"
    never = Difference("it", "http/*", ("^never sent: ping$",), "", "", "")
    transcript = replay.transcripts([name])[name]
    meeting = replay.replay(name, transcript, CHUNKINGS[0], differences=[*DIFFERENCES, never])
    assert asyncio.run(meeting).findings == [
        "a known difference did not occur: it (^never sent: ping$)"
    ]
