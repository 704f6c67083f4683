"""F-MANY-8: an entry with the values of its variables."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpclient.auth.options import OAuth
from mcpclient.client.configured import authentication_of
from mcpclient.entries.applications import APPLICATIONS
from mcpclient.entries.entry import EntryError, read_entry
from mcpclient.entries.resolve import HeadersHelper, resolve, written_target
from mcpclient.entries.variables import Inputs, Variables
from mcpclient.errors import ConnectFailed
from tests.support.tables import each_row

ENVIRON = {
    "A": "value",
    "LINE": "a\nb",
    "BASE": "https://x",
    "EMPTY": "",
    "SPACE": "a b",
    "AGAIN": "${A}",
}
FILES = {os.path.join("/w", ".env"): "F=file\nA=file\n!\n"}


def read(path: str) -> str:
    if path not in FILES:
        raise FileNotFoundError(2, "No such file or directory", path)
    return FILES[path]


def resolved(
    raw: dict[str, Any], hints: list[str] | None = None
) -> tuple[tuple[Any, dict[str, Any]], list[str]]:
    told: list[str] = []

    def report(message: str, *path: str | int, hint: str = "") -> None:
        told.append(f"{'.'.join(map(str, path))}: {message}")
        if hints is not None:
            hints.append(hint)

    entry = read_entry("a", raw, APPLICATIONS["mcpclient"], report)
    variables = Variables(ENVIRON, Inputs(None, None), {"userHome": "/h"}, read)
    return resolve(entry, variables, "/w", read, report, authentication_of), told


def test_a_url_in_the_spelling_that_is_judged() -> None:
    """F-MANY-9: the URL that is connected to is the canonical one."""
    found, _ = resolved({"url": "HTTPS://X.Example:443/a/../b", "scopes": ["a"], "oauth": {}})
    assert found[0] == "https://x.example/b"
    assert found[1]["auth"].scopes == ("a",)  # beside a login they limit it


def test_how_a_value_can_be_given_is_told() -> None:
    """F-MANY-8: in the environment, or as an input."""
    hints: list[str] = []
    resolved({"command": "x", "args": ["${T}", "${input:i}"]}, hints)
    assert hints == [
        "set it, or give a default",
        "it is asked for on a terminal; give a default, or inputs= in code",
    ]


def test_a_relative_path_begins_at_the_file() -> None:
    """F-SAFE-1: the path of a program, or of a script; other words stay."""
    found, _ = resolved({"command": "bin/x", "args": ["sub/y", "z.py"]})
    assert found[0] == [os.path.join("/w", "bin/x"), "sub/y", os.path.join("/w", "z.py")]
    assert resolved({"command": "x"})[0][0] == ["x"]


def test_what_a_shell_reads_stays() -> None:
    found, told = resolved({"command": "sh", "args": ["-c", "for i in 1; do echo ${i}; done"]})
    assert found[0] == ["sh", "-c", "for i in 1; do echo ${i}; done"]
    assert told == ["args: ${i} has no value"]


def test_a_set_but_empty_variable_is_set() -> None:
    found, told = resolved({"url": "https://x", "headers": {"A": "${EMPTY}"}})
    assert (found[1], told) == ({"headers": {"A": ""}}, [])


def test_a_file_of_variables() -> None:
    """F-MANY-8: envFile; the entry's own values take precedence."""
    found, told = resolved({"command": "x", "envFile": ".env", "env": {"A": "entry"}})
    assert found[1] == {"env": {"F": "file", "A": "entry"}}
    assert told == ["envFile: line 3 of the file is not NAME=value"]
    found, told = resolved({"command": "x", "envFile": "/none"})
    assert found[1] == {}
    assert told == ["envFile: it cannot be read: No such file or directory"]


@each_row("text", ["Bearer ${process.env.A}", "$(echo $A)", "{{TOKEN}}", "Bearer <YOUR_API_KEY>"])
def test_a_placeholder_that_is_sent_is_told(text: str) -> None:
    """F-MANY-8: unlike such a thing in the value of a variable."""
    found, told = resolved({"url": "https://x", "headers": {"K": text}})
    assert found[1] == {"headers": {"K": text}}
    assert told == ["headers.K: it holds a placeholder, which is sent as it is"]
    assert resolved({"url": "https://x", "headers": {"K": "${AGAIN}"}})[1] == []


def test_a_header_that_cannot_be_sent_is_left_out() -> None:
    found, told = resolved({"url": "https://x", "headers": {"A": "${LINE}"}})
    assert found[1] == {}
    assert "so A is left out" in told[0]
    assert resolved({"url": "https://x", "env_http_headers": {"A": "LINE"}})[0][1] == {}


def test_oauth() -> None:
    found, _ = resolved({"url": "https://x", "oauth": {"clientId": "${A}"}})
    assert found[1] == {"auth": OAuth(client_id="value")}


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"command": "${T}"}, "there is no program"),
    ({"command": "x", "cwd": "${T}"}, "${T} has no value"),
    ({"url": "https://${T}x.com/"}, "its host depends on ${T}"),
    ({"url": "${T}/x"}, "it is not the URL of a server"),
    ({"url": "https://x:${A}/"}, "it is not the URL of a server"),
    ({"url": "nonsense"}, "not an http, https"),
    ({"url": "https://a b/"}, "white space"),
]


@each_row(("raw", "reason"), REFUSED)
def test_what_cannot_be_reached(raw: dict[str, Any], reason: str) -> None:
    """F-MANY-8: no other host, and no other program, for want of a value; none is shown."""
    with pytest.raises(EntryError) as caught:
        resolved(raw)
    assert reason in str(caught.value)
    assert "value/" not in str(caught.value)


def test_the_target_as_written() -> None:
    application = APPLICATIONS["mcpclient"]
    entry = read_entry("a", {"command": "x", "args": ["${A}"]}, application, print)
    assert written_target(entry) == ["x", "${A}"]


def test_a_file_of_variables_whose_name_has_no_value_is_not_read() -> None:
    """F-SAFE-2: the user agreed to the file that the sheet shows."""
    found, told = resolved({"command": "x", "envFile": "${T}.env"})
    assert found[1] == {}
    assert told == ["envFile: ${T} has no value, so the file is not read"]


def helper(source: str, base: Path, **fixed: str) -> HeadersHelper:
    line = f"{shlex.quote(sys.executable)} -c {shlex.quote(source)}"
    return HeadersHelper(line, "s", "https://x.example/mcp", str(base), fixed)


@pytest.mark.needs_posix
def test_what_it_prints_counts_more_than_the_entry(tmp_path: Path) -> None:
    """F-MANY-8: it runs in the folder of its file, and learns its server's name and URL."""
    source = (
        "import json, os; print(json.dumps({"
        "'authorization': 'Bearer SECRET', 'X-Where': os.getcwd(),"
        "'X-Name': os.environ['CLAUDE_CODE_MCP_SERVER_NAME'],"
        "'X-Url': os.environ['CLAUDE_CODE_MCP_SERVER_URL']}))"
    )
    made = helper(source, tmp_path, Authorization="old", A="b")
    assert asyncio.run(made()) == {
        "A": "b",
        "authorization": "Bearer SECRET",
        "X-Where": os.path.realpath(tmp_path),
        "X-Name": "s",
        "X-Url": "https://x.example/mcp",
    }
    assert "SECRET" not in repr(made)


@pytest.mark.needs_posix
def test_what_is_wrong_names_the_entry(tmp_path: Path) -> None:
    """F-MANY-8: and nothing that it prints."""
    with pytest.raises(ConnectFailed, match=r"^cannot connect to s: its headersHelper ex") as e:
        asyncio.run(helper("import sys; sys.exit('SECRET')", tmp_path)())
    assert "SECRET" not in f"{e.value} {e.value.hint}"


def test_no_url_is_put_into_the_line() -> None:
    """F-MANY-8: a shell reads it, and ``${url}`` is a variable of that."""
    made = HeadersHelper("echo ${url}", "s", "https://x", ".")
    assert made.for_url("https://x/;reboot").words[-1] == "echo ${url}"
