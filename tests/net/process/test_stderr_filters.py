"""What is not shown of a server's stderr: what was shown before, and what is about the probe."""

from __future__ import annotations

import asyncio
import io

import pytest

from mcpclient.net.process.stderr import FirstStart, SecondStart, StderrTee, WithheldComplaint
from tests.support import virtual_time

CRASH = b"server 4711 starts at 12:30:01.5\nTraceback:\n  at 0x7f3a\nKeyError: 'DATABASE'"


def shown(first: list[bytes], second: list[bytes]) -> tuple[str, str]:
    """What is seen of each start, which write these chunks."""
    target = io.StringIO()
    start = FirstStart(target)
    seen = []
    for filtered, chunks in ((start, first), (None, second)):
        tee = StderrTee(filtered or SecondStart(start))
        for chunk in chunks:
            tee.write(chunk)
        tee.finish()
        assert b"".join(chunks).decode().endswith(tee.tail())
        seen.append(target.getvalue())
        target.truncate(target.seek(0))
    return seen[0], seen[1]


@pytest.mark.parametrize("pieces", [1, 7, 1000])
def test_what_was_shown_is_not_shown_again(pieces: int) -> None:
    """F-STD-7: times, addresses and process ids may differ."""
    again = CRASH.replace(b"4711", b"4712").replace(b"30:01.5", b"30:02.25").replace(b"7f3", b"9")
    chunks = [again[start : start + pieces] for start in range(0, len(again), pieces)]
    assert shown([CRASH], chunks) == (CRASH.decode(), "")


@pytest.mark.parametrize("pieces", [1, 7, 1000])
def test_from_the_first_new_line_on_all_is_shown(pieces: int) -> None:
    """F-STD-7: also lines that were shown before, and those that have no end yet."""
    again = b"server 1 starts at 0:1:2.3\nListening.\nTraceback:\nname: "
    chunks = [again[start : start + pieces] for start in range(0, len(again), pieces)]
    assert shown([CRASH], chunks)[1] == "Listening.\nTraceback:\nname: "
    assert shown([], chunks)[1] == again.decode()
    assert shown([CRASH + b"\n"], [CRASH + b"\n", b"\n", b"more"])[1] == "\nmore"


def test_a_line_without_end_is_not_held_back_for_ever() -> None:
    """F-STD-7: nor kept; a prompt longer than 64 KiB is no known line."""
    seen = shown([b"x" * 10], [b"x" * 65536, b"x", b"y"])[1]
    assert seen == "x" * 65537 + "y"


def test_the_first_start_keeps_a_bounded_part() -> None:
    start = FirstStart("discard")
    for _ in range(3):
        start.write(b"x" * 65536)
    assert len(start.written) == 65536


@pytest.mark.parametrize("target", [FirstStart("discard"), SecondStart(FirstStart("discard"))])
def test_bytes_are_asked_for(target: FirstStart | SecondStart) -> None:
    with pytest.raises(TypeError):
        target.write("text")  # type: ignore[arg-type]


# What is about the probe

COMPLAINT = b"1 validation error\nmethod\n  not known: 'server/discover'\n  see the manual\n"
LINES = COMPLAINT.decode().splitlines()


@pytest.mark.parametrize(("is_unknown", "shown"), [(True, []), (False, LINES)])
def test_the_answer_decides_about_what_names_the_method(is_unknown: bool, shown: list[str]) -> None:
    """F-STD-4: in memory it is kept in any case."""
    lines: list[str] = []

    async def main() -> None:
        withheld = WithheldComplaint(lines.append, "server/discover")
        tee = StderrTee(withheld)
        tee.write(b"ready\n" + COMPLAINT)
        assert lines == ["ready"]
        tee.write(b"at work\n")
        withheld.decide(is_unknown=is_unknown)
        tee.write(COMPLAINT)  # whatever that is, it is not about the probe
        withheld.decide(is_unknown=is_unknown)
        tee.finish()
        assert lines == ["ready", "at work", *shown, *LINES]
        assert tee.tail() == f"ready\n{COMPLAINT.decode()}at work\n{COMPLAINT.decode()}"

    virtual_time.run(main())


def test_what_is_not_decided_soon_is_shown() -> None:
    """F-STD-4: a user may have to read it."""
    lines: list[str] = []

    async def main() -> None:
        tee = StderrTee(WithheldComplaint(lines.append, "server/discover"))
        tee.write(b"log in for server/discover: https://a.example")
        await asyncio.sleep(9.9)
        assert lines == []
        await asyncio.sleep(0.2)
        tee.finish()
        assert lines == ["log in for server/discover: https://a.example"]

    virtual_time.run(main())


@pytest.mark.parametrize("restarted", [True, False])
def test_a_traceback_of_a_server_that_ends_over_the_method_is_not_shown(restarted: bool) -> None:
    """F-STD-4: it comes in pieces, of which few name the method; without an end, it is shown."""
    lines: list[str] = []
    pieces = [b"  + Exception Group Traceback (most recent call last):\n", b"  | a line\n", b"\n"]

    async def main() -> None:
        withheld = WithheldComplaint(lines.append, "server/discover")
        tee = StderrTee(withheld)
        tee.write(b"ready\n")
        for piece in pieces:
            tee.write(piece)
        assert lines == ["ready"]
        if restarted:
            withheld.restarted()
            tee.write(b"ready again\n")
        withheld.decide(is_unknown=True)
        tee.finish()

    virtual_time.run(main())
    if restarted:
        assert lines == ["ready", "ready again"]
    else:
        assert lines == ["ready", *b"".join(pieces).decode().splitlines()]
