"""A program that prints headers: bounded, timed, and never shown."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

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
def test_what_is_wrong_names_the_entry(tmp_path: Path) -> None:
    """F-MANY-8: and nothing that it prints."""
    with pytest.raises(ConnectFailed, match=r"^cannot connect to s: its headersHelper ex") as e:
        headers_of(helper("import sys; sys.exit('SECRET')", tmp_path))
    assert "SECRET" not in f"{e.value} {e.value.hint}"


def test_no_url_is_put_into_the_line() -> None:
    """F-MANY-8: a shell reads it, and ``${url}`` is a variable of that."""
    made = HeadersHelper("echo ${url}", "s", "https://x", ".")
    assert made.for_url("https://x/;reboot").words[-1] == "echo ${url}"


def test_the_words_are_those_of_a_shell() -> None:
    """F-SAFE-1: they are judged as a command of their own."""
    made = HeadersHelper("a b", "s", "https://x", ".")
    assert made.words[-2:] == (["/c", "a b"] if os.name == "nt" else ["-c", "a b"])
