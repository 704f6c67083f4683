"""The output of the command line, on streams of any kind: F-SHOW-2, F-SHOW-3."""

from __future__ import annotations

import asyncio
import errno
import io
import logging
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpclient import Progress
from mcpclient.cli import screen as module
from mcpclient.cli.output import columns_of, is_terminal, write_to
from mcpclient.cli.screen import LogLines, Screen, ScreenTerminal, StatusLine
from mcpclient.errors import UsageError
from tests.cli.in_process import Terminal
from tests.support import virtual_time
from tests.support.tables import each_row

# Streams that are closed, full, missing, or no terminal


class SizedTerminal(Terminal):
    """A terminal whose size can be asked for."""

    def fileno(self) -> int:
        return 1


@pytest.mark.parametrize(
    ("says", "environ", "columns"),
    [
        *((132, None, 131), (0, None, 79), (None, None, 79)),
        *((132, "40", 39), (132, "wide", 131), (132, "0", 131)),
    ],
)
def test_the_width_is_that_of_the_environment_or_what_the_terminal_says(
    says: int | None, environ: str | None, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(descriptor: int) -> os.terminal_size:
        if says is None:
            raise OSError("inappropriate ioctl")
        return os.terminal_size((says, 20))

    monkeypatch.setattr(os, "get_terminal_size", answer)
    monkeypatch.delenv("COLUMNS", raising=False)
    if environ is not None:
        monkeypatch.setenv("COLUMNS", environ)
    assert columns_of(SizedTerminal()) == columns


def test_a_stream_that_is_closed_or_missing_has_no_width_and_says_so() -> None:
    """Python has None for streams that were closed before it started."""
    closed = io.TextIOWrapper(io.BytesIO())
    closed.close()
    for stream in (None, closed):
        assert write_to(stream, "x") == write_to(stream, b"x") == "it is closed"
        assert not is_terminal(stream)
        assert columns_of(stream) is None
    assert columns_of(io.StringIO()) is None
    screen = Screen(None, None, {})
    screen.say("anything")
    screen.show("")
    for content in ("x", b"x"):
        with pytest.raises(UsageError, match="to stdout: it is closed"):
            screen.show(content)


@pytest.mark.parametrize("channel", ["text", "bytes", "errors"])
def test_a_reader_that_has_gone_is_no_error(channel: str, tmp_path: Path) -> None:
    """``| head`` ends without a traceback, also when Python exits."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe, (tmp_path / "other").open("w") as other:
        if channel == "errors":
            Screen(other, pipe, {}).say("complaint")
        else:
            Screen(pipe, other, {}).show("answer" if channel == "text" else b"answer")
        pipe.write("more")


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
    monkeypatch.setattr(sys, "platform", platform)
    with (tmp_path / "file").open("w") as file:
        stream = Full(file.fileno(), error)
        assert write_to(stream, "answer") == (None if is_gone else error.strerror)


def test_answers_and_everything_else_are_kept_apart() -> None:
    """Whatever may be a server's is escaped, log records too."""
    out, errors = io.StringIO(), io.StringIO()
    screen = Screen(out, errors, {})
    screen.show("answer")
    screen.show("")
    screen.show_json({"a": 1})
    screen.say("evil \x1b[2J")
    screen.say_safely("\x1b[1mbold\x1b[0m")
    logger = logging.Logger("test")
    logger.addHandler(LogLines(screen))
    logger.warning("left out tool %s", "\x1b[31m")
    ScreenTerminal(screen).say("one\n\x1b[31mtwo")
    assert out.getvalue() == 'answer\n{\n  "a": 1\n}\n'
    assert errors.getvalue() == (
        "evil \\x1b[2J\n\x1b[1mbold\x1b[0m\nleft out tool \\x1b[31m\none\n\\x1b[31mtwo\n"
    )


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
    monkeypatch.setattr("sys.platform", platform)
    screen = Screen(Terminal(), Terminal(), environ)
    assert screen.style.colour is screen.error_style.colour is colour
    assert screen.is_terminal
    assert screen.style.columns is not None


# The line that shows that a call goes on: only on a terminal, only for long calls


def drawn(seconds: float, *reports: dict[str, Any], columns: int | None = 80) -> list[str]:
    """Return the status lines of a call of so many seconds, one per turn, after these reports."""
    stream = Terminal()

    async def call() -> None:
        async with StatusLine(stream) as line:
            for report in reports:
                line.update(Progress(report))
            await asyncio.sleep(seconds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "columns_of", lambda _: columns)
        virtual_time.run(call())
    return stream.getvalue().split("\r")[1:]


def test_a_long_call_turns_a_spinner_and_leaves_no_trace() -> None:
    assert drawn(0.95) == ["| 0 s", "/ 1 s", "- 1 s", "\\ 1 s", "| 1 s", "     ", ""]
    assert drawn(0.4) == []
    assert drawn(5, {"progress": 1}, columns=None) == []


EMPTY, FULL = "." * 24, "#" * 24
NAN, INFINITY, HUGE = float("nan"), float("inf"), 10**400


@each_row(
    ("progress", "total", "shown"),
    [
        (3, 6, "[############............] 3/6"),
        (-1, 6, f"[{EMPTY}] -1/6"),
        (9, 6, f"[{FULL}] 9/6"),
        (4.5, None, "4.5"),
        (NAN, 2, f"[{EMPTY}] nan/2"),
        (INFINITY, INFINITY, f"[{EMPTY}] inf/inf"),
        (INFINITY, 2, f"[{FULL}] inf/2"),
        (HUGE, 2, f"[{FULL}] inf/2"),
        (HUGE, 2 * HUGE, f"[{EMPTY}] inf/inf"),
        (HUGE, None, "inf"),
    ],
)
def test_known_totals_make_a_bar_and_others_a_number(
    progress: float, total: float | None, shown: str
) -> None:
    """Whatever a server counts, the line goes on; of several reports the last counts."""
    report = {"progress": progress, "total": total}
    assert drawn(0.55, {"progress": 2}, report)[0].strip() == f"| 0 s {shown}"


@pytest.mark.virtual_time
async def test_other_output_erases_it_and_a_shorter_line_covers_the_longer_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "columns_of", lambda _: 80)
    stream = Terminal()
    async with StatusLine(stream) as line:
        line.update(Progress({"progress": 1, "message": "a long message"}))
        await asyncio.sleep(0.55)
        line.update(Progress({"progress": 2, "message": "short"}))
        await asyncio.sleep(0.1)
        with line.paused():  # while the user types
            stream.write("other\n")
            await asyncio.sleep(0.5)
        await asyncio.sleep(0.1)
    first, second, erased, other, again, *_ = stream.getvalue().split("\r")[1:]
    assert second == "/ 1 s 2 short".ljust(len(first))
    assert (erased.strip(), other) == ("", "other\n")
    assert again == "- 1 s 2 short"
