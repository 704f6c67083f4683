"""One program that is given something to read."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest

from mcpclient import UsageError
from mcpclient.net.process.programs import output_of, run_program
from tests.net.process_helpers import is_alive, wait_until

PYTHON = [sys.executable, "-S", "-E", "-c"]


def test_what_it_writes_and_how_it_ends() -> None:
    """F-SHOW-5: its words reach it as they are."""
    source = "import sys; print(sys.stdin.read().upper(), *sys.argv[1:]); sys.exit(3)"
    ended = asyncio.run(run_program([*PYTHON, source, "$HOME", "a b", "*"], b"hi"))
    assert (ended.returncode, ended.stdout.split()) == (3, [b"HI", b"$HOME", b"a", b"b", b"*"])


def test_one_that_does_not_read() -> None:
    """F-SHOW-5: however much it is given."""
    ended = asyncio.run(run_program([*PYTHON, "print(1)"], b"x" * 1_000_000))
    assert (ended.returncode, ended.stdout.strip()) == (0, b"1")


@pytest.mark.parametrize("name", ["no-such-program-anywhere", "nul\0l"])
def test_one_that_is_not_there(name: str) -> None:
    """F-SHOW-5"""
    with pytest.raises(UsageError, match="cannot run"):
        asyncio.run(run_program([name], b""))


async def test_cancelling_kills_it() -> None:
    """F-SHOW-5: its end is not waited for."""
    source = "import time; time.sleep(60)"
    running = asyncio.ensure_future(run_program([*PYTHON, source], b""))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


def read(source: str, *, limit: int = 100, seconds: float = 60) -> tuple[int, bytes]:
    reading = output_of([*PYTHON, source], {**os.environ}, None, limit=limit, seconds=seconds)
    return asyncio.run(reading)


def test_what_a_program_writes_that_is_given_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """F-SAFE-1: its stdin is empty, and its stderr is dropped however much it is."""
    source = (
        "import sys; sys.stderr.write('x' * 300000); print(sys.stdin.read() + 'out'); sys.exit(3)"
    )
    code, written = read(source)
    assert (code, written.strip()) == (3, b"out")
    assert capfd.readouterr() == ("", "")


def test_one_that_writes_too_much_or_takes_too_long() -> None:
    """F-SAFE-1: it is ended with all that it started."""
    _, written = read("import sys\nwhile True: sys.stdout.write('x' * 100)")
    assert written == b"x" * 101
    endless = [*PYTHON, "import time; time.sleep(1000)"]
    with pytest.raises((asyncio.TimeoutError, TimeoutError)):
        read(f"import subprocess; subprocess.run({endless!r})", seconds=0.05)


@pytest.mark.needs_posix
def test_what_it_leaves_running_is_ended() -> None:
    """F-SAFE-1: also where it has ended in time."""
    left = [*PYTHON, "import time; time.sleep(1000)"]
    quiet = "stdin=-3, stdout=-3, stderr=-3"  # subprocess.DEVNULL
    code, pid = read(f"import subprocess; print(subprocess.Popen({left!r}, {quiet}).pid)")
    assert code == 0
    wait_until(lambda: not is_alive(int(pid)), "it is ended")
