"""A terminal to show an address on, and to have one pasted."""

from __future__ import annotations

import asyncio
import errno
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

import pytest

from mcpclient.net.login.terminal import Terminal


@contextmanager
def pipe() -> Iterator[tuple[TextIO, TextIO]]:
    read_end, write_end = os.pipe()
    with open(read_end) as source, open(write_end, "w") as target:
        yield source, target


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
def test_a_thread_whose_terminal_fails() -> None:
    """F-AUTH-8"""
    source = io.StringIO()
    source.close()
    with pytest.raises(EOFError):
        asyncio.run(Terminal(source, io.StringIO()).read_line())
