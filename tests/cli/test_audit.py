"""``mcpclient audit`` and ``--audit``: F-AUDIT-1."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from mcpclient.cli.help import complete
from mcpclient.cli.main import main
from mcpclient.net.chained_log import ChainedLog
from mcpclient.testing import demo_server

Capture = pytest.CaptureFixture[str]
SERVER = ["--", sys.executable, demo_server.__file__]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return os.fspath(tmp_path / "calls.jsonl")


def test_a_command_appends_to_the_log_which_is_shown_and_verified(
    path: str, capsys: Capture
) -> None:
    """F-AUDIT-1: a change is named, and the exit code is 1."""
    for _ in range(2):
        assert main(["call", "--audit", path, "echo", "message=hi", *SERVER]) == 0
    capsys.readouterr()
    assert main(["audit", "verify", path]) == 0
    assert capsys.readouterr().out.startswith("4 lines follow each other, the last is line 4\nhead")
    assert main(["audit", "show", path]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split()[:3] == ["TIME", "USER", "SERVER"]
    assert len(rows) == 4
    assert "tools/call" in rows[1] and "echo" in rows[1]
    content = Path(path).read_text("utf-8")
    Path(path).write_text(content.replace('"name":"echo"', '"name":"x"', 1), "utf-8")
    assert main(["audit", "verify", path]) == 1
    assert capsys.readouterr().out.endswith(
        "fault: calls.jsonl:2: this line was changed or inserted\n"
    )


def test_lines_that_were_cut_off_are_missed_without_a_hash_that_was_kept(
    path: str, capsys: Capture
) -> None:
    """F-AUDIT-1"""
    log = ChainedLog(path, 1 << 30)
    for name in ("a\x1b[2J", "b"):
        log.append({"kind": "call", "name": name})
    assert main(["audit", "verify", "--json", path]) == 0
    head = json.loads(capsys.readouterr().out)["head"]["hash"]
    Path(path).write_bytes(Path(path).read_bytes().splitlines(keepends=True)[0])
    assert main(["audit", "verify", path]) == 0
    assert main(["audit", "verify", "--head", head, path]) == 1
    assert "no line has the hash that was kept" in capsys.readouterr().out
    assert main(["audit", "show", path]) == 0
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["audit"], "audit needs verify or show"),
        (["audit", "show", "--head", "x", "y"], "--head is for audit verify"),
        (["audit", "verify", "no-such-file"], "cannot read 'no-such-file'"),
        (["tools", "--audit", "/dev/null", *SERVER], "cannot write the audit log"),
    ],
)
def test_mistakes(words: list[str], said: str, capsys: Capture) -> None:
    """F-AUDIT-1: one line, exit code 2."""
    assert main(words) == 2
    assert said in capsys.readouterr().err


def test_an_empty_log(path: str, capsys: Capture) -> None:
    Path(path).touch()
    assert main(["audit", "show", path]) == 0
    assert capsys.readouterr().out == "the log is empty\n"


def test_the_actions_are_completed() -> None:
    """F-SHOW-7"""
    assert complete(["zsh", "mcpclient audit "]) == "verify\nshow\n"
