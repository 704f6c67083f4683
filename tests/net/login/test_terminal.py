"""A terminal to show an address on, and to have one pasted."""

from __future__ import annotations

import asyncio
import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

import pytest

from mcpclient.net.login import terminal
from mcpclient.net.login.terminal import Terminal


@contextmanager
def pipe() -> Iterator[tuple[TextIO, TextIO]]:
    read_end, write_end = os.pipe()
    with open(read_end) as source, open(write_end, "w") as target:
        yield source, target


async def test_a_line_is_read_when_it_is_complete() -> None:
    """F-AUTH-8: in pieces, as a terminal gives them."""
    with pipe() as (source, keyboard):
        line = asyncio.ensure_future(Terminal(source, io.StringIO()).read_line())
        for piece in ("http://127", ".0.0.1/?code=1\n"):
            keyboard.write(piece)
            keyboard.flush()
            await asyncio.sleep(0)
        assert await line == "http://127.0.0.1/?code=1"


@pytest.mark.parametrize("watches", [True, False])
async def test_a_cancelled_read_leaves_the_line_to_the_next(
    watches: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-AUTH-8: also on Windows, where a thread reads, and cannot be cancelled."""
    if sys.platform != "win32":
        monkeypatch.setattr(terminal, "_WATCHES_TERMINALS", watches)
    with pipe() as (source, keyboard):
        reading = Terminal(source, io.StringIO())
        line = asyncio.ensure_future(reading.read_line())
        await asyncio.sleep(0)
        line.cancel()
        with pytest.raises(asyncio.CancelledError):
            await line
        keyboard.write("text\n")
        keyboard.flush()
        assert await reading.read_line() == "text"


def test_the_end_of_input() -> None:
    """F-AUTH-8"""
    with pipe() as (source, keyboard):
        keyboard.close()
        with pytest.raises(EOFError):
            asyncio.run(Terminal(source, io.StringIO()).read_line())


@pytest.mark.needs_posix  # elsewhere a thread reads, and not the event loop
def test_a_terminal_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-8: the event loop would call the reader for ever."""

    def gone(descriptor: int, size: int) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    with pipe() as (source, keyboard):
        keyboard.write("x")
        keyboard.flush()
        monkeypatch.setattr(os, "read", gone)
        with pytest.raises(EOFError):
            asyncio.run(Terminal(source, io.StringIO()).read_line())


@pytest.fixture
def as_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcpclient.net.login.terminal._WATCHES_TERMINALS", False)


@pytest.mark.usefixtures("as_on_windows")
def test_a_loop_that_cannot_watch_a_terminal() -> None:
    """F-AUTH-8: as on Windows: a thread reads, and nobody waits for it."""
    with pipe() as (source, keyboard):
        keyboard.write("text\n")
        keyboard.flush()
        assert asyncio.run(Terminal(source, io.StringIO()).read_line()) == "text"


@pytest.mark.usefixtures("as_on_windows")
def test_a_thread_whose_terminal_fails() -> None:
    """F-AUTH-8"""
    source = io.StringIO()
    source.close()
    with pytest.raises(EOFError):
        asyncio.run(Terminal(source, io.StringIO()).read_line())


@pytest.mark.usefixtures("as_on_windows")
def test_a_thread_that_comes_too_late() -> None:
    """F-AUTH-8"""
    with pipe() as (source, keyboard):

        async def main() -> None:
            line = asyncio.ensure_future(Terminal(source, io.StringIO()).read_line())
            await asyncio.sleep(0)
            line.cancel()
            with pytest.raises(asyncio.CancelledError):
                await line

        asyncio.run(main())
        keyboard.write("late\n")
        keyboard.flush()
        keyboard.close()


def test_what_is_said_is_seen_at_once() -> None:
    """F-AUTH-8"""
    target = io.StringIO()
    Terminal(io.StringIO(), target).say("hello")
    assert target.getvalue() == "hello\n"


@pytest.mark.needs_posix
def test_whether_somebody_sits_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-8: only with a terminal on both sides."""
    first, second = os.openpty()
    with (
        open(first, "w") as keyboard,
        open(second) as source,
        open(second, "w", closefd=False) as out,
    ):
        assert Terminal(source, out).is_interactive
        assert not Terminal(io.StringIO(), out).is_interactive
        assert not Terminal(source, io.StringIO()).is_interactive
        keyboard.flush()
    assert not Terminal(source, out).is_interactive  # closed
    monkeypatch.setattr(sys, "stdin", None)
    assert not Terminal().is_interactive
