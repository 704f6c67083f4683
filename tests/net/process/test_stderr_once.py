"""What a second start in a row shows of a server's stderr."""

from __future__ import annotations

import io

import pytest

from mcpclient.net.process.stderr import StderrTee
from mcpclient.net.process.stderr_once import FirstStart, SecondStart

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
