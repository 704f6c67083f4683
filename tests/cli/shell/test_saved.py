"""F-SHOW-5: lines under names, in this session and in later ones."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

import pytest

from mcpclient import UsageError
from mcpclient.cli.shell.lines import SavedLines
from tests.cli.shell.in_shell import Typed, World, in_shell


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "shell_saved.json"


def test_other_sessions_have_them(path: Path) -> None:
    """F-SHOW-5: each sees what the others kept, and undoes nothing of theirs."""
    first, second = SavedLines(path), SavedLines(path)
    assert first.take("save smoke echo message='a b'") == ""
    assert second.take("save other tools ") == ""
    assert first.take("tools") is first.take("") is None
    third = SavedLines(path)
    assert dict(zip(third, map(third.__getitem__, third))) == {
        "smoke": "echo message='a b'",
        "other": "tools",
    }
    third.take("forget smoke")
    assert list(third) == list(SavedLines(path)) == ["other"]
    if os.name == "posix":
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_secret_stays_in_this_session(path: Path) -> None:
    """F-SHOW-5: and takes with it what was kept under the name before."""
    lines = SavedLines(path)
    lines.take("save me tools")
    assert "may hold a secret" in str(lines.take("save me login password=x", has_secret=True))
    assert lines["me"] == "login password=x"
    assert list(SavedLines(path)) == [] and "password" not in path.read_text()


def test_a_script_changes_nothing(path: Path) -> None:
    SavedLines(path).take("save smoke tools")
    script = SavedLines(path, may_change=False)
    script.take("save smoke ping")
    script.take("save more ping")
    assert script["smoke"] == "ping"
    assert list(SavedLines(path)) == ["smoke"] and SavedLines(path)["smoke"] == "tools"


@pytest.mark.parametrize("content", ["", "no json", "[1]", '{"a": 1}', "[" * 100_000])
def test_a_file_of_another_kind_holds_nothing(path: Path, content: str) -> None:
    path.parent.mkdir(mode=0o700)
    path.write_text(content)
    path.chmod(0o600)
    lines = SavedLines(path)
    assert list(lines) == []
    lines.take("save smoke tools")
    assert json.loads(path.read_text()) == {"smoke": "tools"}


def test_where_nothing_can_be_kept_there_is_a_warning(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """F-SHOW-5: the shell goes on without."""
    path.mkdir(parents=True)
    with caplog.at_level(logging.WARNING):
        lines = SavedLines(path)
    assert "are not kept: it is a folder" in caplog.text.replace("[Errno 22] ", "")
    assert lines.take("save smoke tools") == "" and lines["smoke"] == "tools"


def test_usage() -> None:
    lines = SavedLines()
    for line, said in (
        ("save x", "usage: save"),
        ("forget", "usage: forget"),
        ("forget x", "nothing is saved as 'x'"),
        ("save x 'a", "is not closed"),
    ):
        with pytest.raises(UsageError, match=said):
            lines.take(line)


def test_in_the_shell(tmp_path: Path) -> None:
    """F-SHOW-5: what was typed once can be run by a script; a secret is recognized."""
    history = str(tmp_path / "history")

    async def work(world: World) -> None:
        assert await world.shell.run() == 0

    typed = ["save smoke echo message=kept", "save secret echo token=x message=y"]
    in_shell(work, lines=Typed(typed, is_interactive=True), history=history)

    async def script(world: World) -> None:
        assert await world.shell.run() == 2
        assert world.out.getvalue() == "kept\n"
        assert "nothing is saved as 'secret'" in world.errors.getvalue()

    in_shell(script, lines=Typed(["run smoke", "run secret"]), history=history)
