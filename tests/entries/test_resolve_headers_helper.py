"""A program that prints headers: bounded, timed, and never shown."""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpclient.entries import resolve
from mcpclient.entries.resolve import HeadersHelper
from mcpclient.errors import ConnectFailed

posix = pytest.mark.skipif(os.name != "posix", reason="its lines are for sh")


def helper(source: str, base: Path, **fixed: str) -> HeadersHelper:
    line = f"{shlex.quote(sys.executable)} -c {shlex.quote(source)}"
    return HeadersHelper(line, "s", "https://x.example/mcp", str(base), fixed)


def headers_of(helper: HeadersHelper) -> Any:
    async def main() -> Any:
        return await helper()

    return asyncio.run(main())


@posix
def test_what_it_prints_counts_more_than_the_entry(tmp_path: Path) -> None:
    """F-MANY-8: it runs in the folder of its file, and learns its server's name and URL."""
    source = (
        "import json, os; print(json.dumps({"
        "'authorization': 'Bearer SECRET', 'X-Where': os.getcwd(),"
        "'X-Name': os.environ['CLAUDE_CODE_MCP_SERVER_NAME'],"
        "'X-Url': os.environ['CLAUDE_CODE_MCP_SERVER_URL']}))"
    )
    made = helper(source, tmp_path, Authorization="old", A="b")
    assert headers_of(made) == {
        "A": "b",
        "authorization": "Bearer SECRET",
        "X-Where": os.path.realpath(tmp_path),
        "X-Name": "s",
        "X-Url": "https://x.example/mcp",
    }
    assert "SECRET" not in repr(made)


@posix
def test_it_runs_once_for_a_connection(tmp_path: Path) -> None:
    """F-MANY-8: several requests at once wait for one run, and a failed one is made anew."""
    source = "open('ran', 'a').write('x'); print('{}')"
    made = helper(source, tmp_path)

    async def main() -> None:
        first = asyncio.ensure_future(made())
        await asyncio.sleep(0)
        first.cancel()
        for found in await asyncio.gather(made(), made()):
            assert not found
        assert (tmp_path / "ran").read_text() == "x"
        made._valid_until = 0.0
        await made()

    asyncio.run(main())
    assert (tmp_path / "ran").read_text() == "xx"


@posix
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import sys; sys.exit('SECRET')", "exited with code 1"),
        ("print('SECRET')", "JSON object of strings"),
        ("print('[]')", "JSON object of strings"),
        ("print('{\"SECRET\": 1}')", "JSON object of strings"),
        ("print('SECRET' * 100000)", "more than 65536 bytes"),
        ("import sys\nwhile True: sys.stdout.write('SECRET')", "more than 65536 bytes"),
    ],
)
def test_what_is_wrong_is_said_without_its_output(
    source: str,
    reason: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """F-MANY-8: nothing that it prints, on stdout or stderr, is shown or logged."""
    with caplog.at_level(logging.DEBUG), pytest.raises(ConnectFailed, match=reason) as caught:
        headers_of(helper(source, tmp_path))
    assert "SECRET" not in f"{caught.value} {caplog.text} {capfd.readouterr()}"


@posix
def test_it_has_ten_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-MANY-8: then it is killed with all that it started."""
    monkeypatch.setattr(resolve, "_SECONDS", 0.05)
    made = HeadersHelper("sleep 1000 & sleep 1000", "s", "https://x", str(tmp_path))
    with pytest.raises(ConnectFailed, match="did not end"):
        headers_of(made)


@posix
def test_one_that_cannot_be_started(tmp_path: Path) -> None:
    made = HeadersHelper("x", "s", "https://x", str(tmp_path / "gone"))
    with pytest.raises(ConnectFailed, match="cannot be started"):
        headers_of(made)


def test_the_words_are_those_of_a_shell() -> None:
    """F-SAFE-1: they are judged as a command of their own."""
    made = HeadersHelper("a b", "s", "https://x", ".")
    assert made.words[-2:] == (["/c", "a b"] if os.name == "nt" else ["-c", "a b"])
