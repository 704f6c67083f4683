"""What goes to stdout and to stderr, and how."""

from __future__ import annotations

import errno
import io
import logging
import os
import sys
from pathlib import Path

import pytest

from mcpclient.cli.main import write_to
from mcpclient.cli.render import Style
from mcpclient.cli.screen import LogLines, Screen
from mcpclient.errors import UsageError
from tests.cli.in_process import Terminal


def test_answers_and_everything_else_are_kept_apart() -> None:
    """F-SHOW-2"""
    out, errors = io.StringIO(), io.StringIO()
    screen = Screen(out, errors, {})
    screen.show("answer")
    screen.show("")
    screen.show_json({"a": 1})
    screen.say("evil \x1b[2J")
    screen.say_safely("\x1b[1mbold\x1b[0m")
    assert out.getvalue() == 'answer\n{\n  "a": 1\n}\n'
    assert errors.getvalue() == "evil \\x1b[2J\n\x1b[1mbold\x1b[0m\n"


def test_log_records_are_escaped() -> None:
    """F-SHOW-3: they may quote a server."""
    errors = io.StringIO()
    logger = logging.Logger("test")
    logger.addHandler(LogLines(Screen(io.StringIO(), errors, {})))
    logger.warning("left out tool %s", "\x1b[31m")
    assert errors.getvalue() == "left out tool \\x1b[31m\n"


@pytest.mark.parametrize(
    ("platform", "environ", "colour"),
    [
        ("linux", {}, True),
        ("linux", {"NO_COLOR": ""}, True),
        ("linux", {"NO_COLOR": "1"}, False),
        ("linux", {"TERM": "dumb"}, False),
        ("win32", {}, False),
        ("win32", {"WT_SESSION": "x"}, True),
    ],
)
def test_colour_on_a_terminal_that_wants_it(
    platform: str, environ: dict[str, str], colour: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SHOW-3"""
    monkeypatch.setattr("sys.platform", platform)
    screen = Screen(Terminal(), Terminal(), environ)
    assert screen.style.colour is screen.error_style.colour is colour
    assert screen.is_terminal
    assert screen.style.columns is not None


def test_a_file_gets_neither_colour_nor_cut_lines() -> None:
    """F-SHOW-3"""
    screen = Screen(io.StringIO(), io.StringIO(), {})
    assert screen.style == screen.error_style == Style(colour=False, columns=None)
    assert not screen.is_terminal


def test_what_the_encoding_lacks_is_written_out() -> None:
    """F-SHOW-3"""
    out = io.TextIOWrapper(io.BytesIO(), "ascii")
    Screen(out, io.StringIO(), {}).show("Grüße …")
    out.seek(0)
    assert out.read() == "Gr\\xfc\\xdfe \\u2026\n"


def test_bytes_go_out_as_they_are() -> None:
    """F-SHOW-3"""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    Screen(out, io.StringIO(), {}).show(b"\x89PNG\r\n\xff")
    out.buffer.seek(0)
    assert out.buffer.read() == b"\x89PNG\r\n\xff"


@pytest.mark.parametrize("channel", ["text", "bytes", "errors"])
def test_a_reader_that_has_gone_is_no_error(channel: str, tmp_path: Path) -> None:
    """F-SHOW-3: ``| head`` ends without a traceback, also when Python exits."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe, (tmp_path / "other").open("w") as other:
        if channel == "text":
            Screen(pipe, other, {}).show("answer")
        elif channel == "bytes":
            Screen(pipe, other, {}).show(b"answer")
        else:
            Screen(other, pipe, {}).say("complaint")
        pipe.write("more")


@pytest.mark.parametrize(
    ("error", "platform", "is_gone"),
    [
        (BrokenPipeError(errno.EPIPE, "broken pipe"), "linux", True),
        (BrokenPipeError(errno.EPIPE, "broken pipe"), "win32", True),
        (OSError(errno.EINVAL, "invalid argument"), "win32", True),
        (OSError(errno.EINVAL, "invalid argument"), "linux", False),
        (OSError(errno.ENOSPC, "no space left"), "win32", False),
    ],
)
def test_each_system_says_in_its_way_that_the_reader_has_gone(
    error: OSError, platform: str, is_gone: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SHOW-3"""
    monkeypatch.setattr(sys, "platform", platform)
    with (tmp_path / "file").open("w") as file:
        stream = Full(file.fileno(), error)
        assert write_to(stream, "answer") == (None if is_gone else error.strerror)


class Full(io.StringIO):
    """A stream to a disk that is full, or that fails in another way."""

    def __init__(self, descriptor: int, error: OSError | None = None) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._error = error or OSError(28, "No space left on device")

    def fileno(self) -> int:
        return self._descriptor

    def flush(self) -> None:
        raise self._error


def test_an_answer_that_cannot_be_written(tmp_path: Path) -> None:
    """F-SHOW-2: an error like any other, and nothing more where that cannot be shown either."""
    descriptor = os.open(tmp_path / "full", os.O_WRONLY | os.O_CREAT)
    try:
        screen = Screen(Full(descriptor), io.StringIO(), {})
        for _ in range(2):  # also when the failure itself is to be shown there
            with pytest.raises(UsageError, match="to stdout: No space left on device"):
                screen.show("answer")
        Screen(io.StringIO(), Full(descriptor), {}).say("anything")
    finally:
        os.close(descriptor)


def test_streams_that_are_closed() -> None:
    """F-SHOW-2: Python has None for them."""
    screen = Screen(None, None, {})
    screen.say("anything")
    screen.show("")
    with pytest.raises(UsageError, match="to stdout: it is closed"):
        screen.show("x")
    with pytest.raises(UsageError, match="to stdout: it is closed"):
        screen.show(b"x")
