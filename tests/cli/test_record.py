"""``record``: an ordinary command, and its session in a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from mcpclient.cli.main import main
from tests.support.subprocesses import TOP

SERVER = ["--", sys.executable, str(TOP / "mcpclient" / "testing" / "demo_server.py")]

Capture = pytest.CaptureFixture[str]


def methods(path: Path) -> list[str]:
    """The methods of the requests in a transcript."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        record["message"]["method"]
        for record in records
        if record.get("direction") == "sent" and "message" in record
    ]


@pytest.mark.parametrize("dashes", [[], ["--"]])
def test_the_command_does_what_it_does_otherwise(
    dashes: list[str], tmp_path: Path, capsys: Capture
) -> None:
    """F-SHOW-8: in both spellings."""
    path = tmp_path / "s.jsonl"
    assert main(["record", str(path), *dashes, "call", "echo", "message=hi", *SERVER]) == 0
    assert capsys.readouterr() == ("hi\n", "")
    assert methods(path) == ["server/discover", "tools/list", "tools/call"]


def test_failures_and_options_of_the_command(tmp_path: Path, capsys: Capture) -> None:
    """F-SHOW-2, F-SHOW-8: the exit code is that of the command."""
    path = str(tmp_path / "s.jsonl")
    assert main(["record", path, "--", "call", "nope", "--unchecked", "--json", *SERVER]) == 5
    assert json.loads(capsys.readouterr().out)["error"]["code"] == -32602
    assert main(["record", "--json", path, "--force", "call", "fail", *SERVER]) == 1
    assert json.loads(capsys.readouterr().out)["isError"] is True
    assert main(["record", "--force", path, "tools", "--", "no-such-command"]) == 3
    assert "never opened" in Path(path).read_text(encoding="utf-8")


def test_a_file_is_not_overwritten_by_accident(tmp_path: Path, capsys: Capture) -> None:
    """F-SHOW-8"""
    path = tmp_path / "s.jsonl"
    path.write_text("mine")
    assert main(["record", str(path), "ping", *SERVER]) == 2
    assert "exists; --force overwrites it" in capsys.readouterr().err
    assert path.read_text() == "mine"
    assert main(["record", str(path), "--force", "ping", *SERVER]) == 0
    assert methods(path)[0] == "server/discover"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "the following arguments are required: FILE"),
        (["FILE"], "record needs a command"),
        (["FILE", "auth", "status"], "record takes a command for one server, and not auth"),
        (["FILE", "record", "FILE", "tools"], "record takes a command for one server"),
        (["FILE", "--nope", "tools"], "unrecognized arguments: --nope"),
        (["FILE", "nope"], "there is no command 'nope'"),
        (["FILE", "tools"], "which server?"),
        (["FILE", "tools", "--trace", "x", *SERVER], "choose one"),
        (["FILE/none", "tools", *SERVER], "cannot write"),
    ],
)
def test_words_that_make_no_sense(
    words: list[str], reason: str, tmp_path: Path, capsys: Capture
) -> None:
    """F-SHOW-2: nothing is started, and nothing is written."""
    path = str(tmp_path / "s.jsonl")
    assert main(["record", *(word.replace("FILE", path) for word in words)]) == 2
    assert reason in capsys.readouterr().err
    assert not Path(path).exists()


def test_the_help_is_that_of_what_it_stands_after(capsys: Capture) -> None:
    """F-SHOW-1"""
    for words, expected in (
        (["record", "--help"], "record [OPTION ...] FILE [--] COMMAND"),
        (["record", "s.jsonl", "call", "--help"], "mcpclient call [OPTION ...]"),
    ):
        with pytest.raises(SystemExit):
            main(words)
        assert expected in " ".join(capsys.readouterr().out.split())


def test_any_command_can_be_traced(tmp_path: Path, capsys: Capture) -> None:
    """F-SHOW-6: --trace appends, and record does not."""
    path = tmp_path / "t.jsonl"
    for _ in range(2):
        assert main(["ping", "--trace", str(path), *SERVER]) == 0
    assert methods(path) == ["server/discover", "server/discover"] * 2
    assert main(["ping", "--trace", str(tmp_path), *SERVER]) == 2
    assert "cannot write the trace" in capsys.readouterr().err
