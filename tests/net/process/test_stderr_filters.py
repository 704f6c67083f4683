"""Hidden lines of a server's stderr: complaints about the probe, repetitions of a second start."""

from __future__ import annotations

import asyncio

import pytest

from mcpclient.net.process.stderr import ProbeFilter, StderrTee

COMPLAINT = b"1 validation error\nmethod\n  not known: 'server/discover'\n  see the manual\n"
LINES = COMPLAINT.decode().splitlines()


@pytest.mark.parametrize(("is_unknown", "shown"), [(True, []), (False, LINES)])
@pytest.mark.virtual_time
async def test_the_answer_decides_about_what_names_the_method(
    is_unknown: bool, shown: list[str]
) -> None:
    """F-STD-4: in memory it is kept in any case."""
    lines: list[str] = []
    held = ProbeFilter(lines.append, "server/discover")
    tee = StderrTee(held)
    tee.write(b"ready\n" + COMPLAINT)
    tee.write(b"at work\n")
    assert lines == []
    held.decide(is_unknown=is_unknown)
    assert lines == ["ready", *shown, "at work"]
    tee.write(COMPLAINT)  # whatever that is, it is not about the probe
    held.decide(is_unknown=is_unknown)
    tee.write(b"")
    assert lines == ["ready", *shown, "at work", *LINES]
    assert tee.tail() == f"ready\n{COMPLAINT.decode()}at work\n{COMPLAINT.decode()}"


# As rich lays out the record of a log, with the method in its fifth line only.
RECORD = b"""[11/24/26 16:29:02] WARNING  Failed to validate request: 31       session.py:383
                             validation errors for ClientRequest
                             PingRequest.method
                               Input should be 'ping'
                             input_value='server/discover',
"""


@pytest.mark.virtual_time
async def test_a_record_that_is_laid_out_is_hidden_from_its_first_line_on() -> None:
    """F-STD-4"""
    lines: list[str] = []
    held = ProbeFilter(lines.append, "server/discover")
    held.write(b"ready\n  to serve\n" + RECORD + b"    PingRequest.params\n")
    held.decide(is_unknown=True)
    held.write(b"")
    assert lines == ["ready", "  to serve"]


@pytest.mark.virtual_time
async def test_what_is_not_decided_soon_is_shown() -> None:
    """F-STD-4: a user may have to read it; nor is more held than 64 KiB."""
    lines: list[str] = []
    tee = StderrTee(ProbeFilter(lines.append, "server/discover"))
    for text in (b"log in for server/discover: https://a.example\n", b"waiting\n"):
        tee.write(text)
        await asyncio.sleep(2.9)
        assert lines == []
        await asyncio.sleep(0.2)
        assert lines == [text.decode().strip()]
        lines.clear()
    for _ in range(2):
        assert lines == []
        tee.write(b"x" * 60_000 + b"\n")
    assert lines == ["x" * 60_000] * 2


# Python writes each line by itself.
TRACEBACK = [b"  + Exception Group Traceback (most recent call last):\n", *[b"  | a line\n"] * 100]
OWN = b"".join(TRACEBACK).decode().splitlines()


@pytest.mark.parametrize(
    ("last", "shown"),
    [(b"  | server/discover", []), (b"  | no database", [*OWN, "  | no database"])],
)
@pytest.mark.virtual_time
async def test_a_traceback_is_shown_unless_it_is_about_the_method(
    last: bytes, shown: list[str]
) -> None:
    """F-STD-4: it comes in pieces, of which few name the method."""
    lines: list[str] = []
    held = ProbeFilter(lines.append, "server/discover")
    tee = StderrTee(held)
    for piece in (b"ready\n", *TRACEBACK, last):
        tee.write(piece)
    tee.write(b"")
    held.decide(is_unknown=True)
    assert lines == ["ready", *shown]
