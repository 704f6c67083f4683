"""`mcpclient stubs`: F-STUB-1."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from mcpclient.cli.running import run as main
from tests.support.subprocesses import TOP

Capture = pytest.CaptureFixture[str]

DEMO = ["--", sys.executable, str(TOP / "mcpclient" / "testing" / "demo_server.py")]


def test_stubs_are_written_and_compared(tmp_path: Path, capsys: Capture) -> None:
    """F-STUB-1: a difference is shown, and is an exit code for CI."""
    file = tmp_path / "demo.py"
    assert main(["stubs", "-o", str(file), "--name", "demo", *DEMO]) == 0
    assert "4 tools" in capsys.readouterr().out
    assert "class Demo(Stub):" in file.read_text()
    assert main(["stubs", "-o", str(file), "--name", "demo", "--check", *DEMO]) == 0
    file.write_text(file.read_text().replace("def echo(", "def repeat("))
    assert main(["stubs", "-o", str(file), "--name", "demo", "--check", *DEMO]) == 1
    shown = capsys.readouterr()
    assert "+    def echo(" in shown.out + shown.err


def test_without_a_file_they_are_shown(capsys: Capture) -> None:
    """F-STUB-1"""
    assert main(["stubs", *DEMO]) == 0
    assert "class DemoServerAsync(AsyncStub):" in capsys.readouterr().out
    assert main(["stubs", "--json", *DEMO]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["tools"] == 4 and "import" in answer["source"]


def test_a_target_that_may_hold_a_secret_is_not_written(tmp_path: Path, capsys: Capture) -> None:
    """F-STUB-1"""
    file = tmp_path / "demo.py"
    assert main(["stubs", "-o", str(file), *DEMO, "--api-key", "s3cret"]) == 0
    assert "TARGET" not in file.read_text()
    assert "pass it" in capsys.readouterr().err
