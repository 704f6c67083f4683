"""``mcpclient shell`` as a command: which servers, from where the lines come, exit codes."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from typing import Protocol

import pytest

from mcpclient.cli.main import main
from tests.support.subprocesses import TOP

DEMO = [sys.executable, str(TOP / "mcpclient" / "testing" / "demo_server.py")]
Capture = pytest.CaptureFixture[str]


class Run(Protocol):
    def __call__(self, script: str | None, *words: str) -> tuple[int, str, str]: ...


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: Capture, nothing_configured: Path) -> Run:
    """A function that runs a script, and returns exit code, stdout and stderr."""

    def run(script: str | None, *words: str) -> tuple[int, str, str]:
        stdin = None if script is None else io.StringIO(script)
        monkeypatch.setattr(sys, "stdin", stdin)
        code = main(["shell", *words])
        return code, *capsys.readouterr()

    return run


def test_a_script_on_one_server(run: Run) -> None:
    """F-SHOW-5, F-SHOW-2: the server is named after its script."""
    assert run("echo message=hi\ndemo_server.echo message=ho\n", "--", *DEMO) == (0, "hi\nho\n", "")
    code, out, errors = run("echo message=hi\nnope\necho message=never", "--", *DEMO)
    assert (code, out) == (2, "hi\n")
    assert errors.startswith("line 2: nope\nerror: there is no command or tool 'nope'")
    assert run("", "--", *DEMO) == run(None, "--", *DEMO) == (0, "", "")


def test_a_script_as_json(run: Run) -> None:
    """F-SHOW-2, F-SHOW-5: one document."""
    code, out, _ = run("echo message=hi\nexpect text == ho", "--json", "--", *DEMO)
    failure = 'expected text == ho, and text is "hi"'
    assert (code, json.loads(out)) == (
        1,
        {
            "exitCode": 1,
            "lines": [
                {"line": "echo message=hi", "exitCode": 0, "text": "hi"},
                {"line": "expect text == ho", "exitCode": 1, "text": failure},
            ],
        },
    )


def test_all_configured_servers(run: Run, nothing_configured: Path) -> None:
    """F-SHOW-5, F-MANY-1: those that fail are said, and the others are there."""
    entry = {"command": DEMO[0], "args": DEMO[1:]}
    servers = {"one": entry, "two": entry, "gone": {"command": "no-such-program-here"}}
    path = nothing_configured / "servers.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    script = "two.echo message=hi\nuse two\necho message=ho\nservers\ngone.x\n"
    code, out, errors = run(script, "--config", str(path))
    assert out.startswith("hi\nho\n")
    assert re.search(r"^two \* +connected +4 tools$", out, re.M)
    assert re.search(r"^gone +failed +cannot start", out, re.M)
    assert (code, "no-such-program-here" in errors) == (2, True)


def test_an_interpreters_server_is_named_after_its_script(run: Run) -> None:
    """F-SHOW-5"""
    code, out, _ = run("servers", "--", sys.executable, "-E", *DEMO[1:])
    assert (code, "demo_server *" in out) == (0, True)
    assert "no-such-program-here" in run("", "--", "no-such-program-here")[2]


@pytest.mark.slow
def test_each_server_is_named_before_its_stderr(run: Run, nothing_configured: Path) -> None:
    """F-SHOW-15: lines of several servers stand among each other."""
    code = (
        "import sys, runpy; print('hello', file=sys.stderr); "
        f"runpy.run_path({DEMO[1]!r}, {{}}, '__main__')"
    )
    entry = {"command": sys.executable, "args": ["-c", code]}
    file = nothing_configured / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"one": entry, "two": entry}}))
    _, _, errors = run("servers\n", "--config", str(file))
    assert {"one: hello", "two: hello"} <= set(errors.splitlines())
    assert "hello" not in run("servers\n", "--quiet", "--config", str(file))[2]
