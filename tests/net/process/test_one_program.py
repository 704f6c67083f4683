"""One program that is given something to read."""

from __future__ import annotations

import asyncio
import sys

import pytest

from mcpclient import UsageError
from mcpclient.net.process.one_program import run_program

PYTHON = [sys.executable, "-S", "-E", "-c"]


def test_what_it_writes_and_how_it_ends() -> None:
    """F-SHOW-5: its words reach it as they are."""
    source = "import sys; print(sys.stdin.read().upper(), *sys.argv[1:]); sys.exit(3)"
    answer = asyncio.run(run_program([*PYTHON, source, "$HOME", "a b", "*"], b"hi"))
    code, written = answer
    assert (code, written.split()) == (3, [b"HI", b"$HOME", b"a", b"b", b"*"])


def test_one_that_does_not_read() -> None:
    """F-SHOW-5: however much it is given."""
    code, written = asyncio.run(run_program([*PYTHON, "print(1)"], b"x" * 1_000_000))
    assert (code, written.strip()) == (0, b"1")


def test_its_output_may_be_ours(capfd: pytest.CaptureFixture[str]) -> None:
    """F-SHOW-5: as for a pager."""
    answer = asyncio.run(run_program([*PYTHON, "print(1)"], b"", keeps_output=True))
    assert answer == (0, b"")
    assert capfd.readouterr().out.strip() == "1"


@pytest.mark.parametrize("name", ["no-such-program-anywhere", "nul\0l"])
def test_one_that_is_not_there(name: str) -> None:
    """F-SHOW-5"""
    with pytest.raises(UsageError, match="cannot run"):
        asyncio.run(run_program([name], b""))


def test_cancelling_kills_it() -> None:
    """F-SHOW-5: its end is not waited for."""

    async def main() -> None:
        source = "import time; time.sleep(60)"
        running = asyncio.ensure_future(run_program([*PYTHON, source], b""))
        await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(main())
