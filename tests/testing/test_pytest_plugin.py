"""F-API-25: the fixtures, in a pytest of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.subprocesses import TOP

TESTS = """
import asyncio, sys
import pytest
SERVER = [sys.executable, {server!r}]

@pytest.mark.parametrize("word", ["one", "two/three"])
def test_echo(mcp_cassette, mcp_check_tools, word):
    async def main():
        async with mcp_cassette.connect(SERVER) as client:
            mcp_check_tools(await client.list_tools())
            assert (await client.call_tool("echo", {{"message": word}})).text == word
    asyncio.run(main())
"""
BROKEN = """
def test_broken(mcp_cassette):
    raise LookupError("on purpose")
"""


def run_pytest(folder: Path, *options: str, code: int = 0, **environment: str) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n0", *options]
    plain = {name: value for name, value in os.environ.items() if name != "CI"}
    answer = subprocess.run(
        command if "xdist" in sys.modules else [part for part in command if part != "-n0"],
        cwd=folder,
        env={**plain, "PYTHONPATH": str(TOP), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert answer.returncode == code, answer.stdout + answer.stderr
    return answer.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text(
        'pytest_plugins = ["mcpclient.testing.pytest_plugin"]\n', "utf-8"
    )
    server = TOP / "conformance" / "servers" / "demo_server.py"
    (tmp_path / "test_it.py").write_text(TESTS.format(server=str(server)), "utf-8")
    return tmp_path


def test_each_test_has_a_cassette_and_a_snapshot(folder: Path) -> None:
    """F-API-25: recorded by the first run, replayed without the server by the second."""
    assert "recorded call" not in run_pytest(folder)
    names = sorted(str(each.relative_to(folder)) for each in folder.glob("*/*.json*"))
    assert names == [
        *("cassettes/test_it.test_echo-one.jsonl", "cassettes/test_it.test_echo-two-three.jsonl"),
        *("snapshots/test_it.test_echo-one.json", "snapshots/test_it.test_echo-two-three.json"),
    ]
    text = (folder / "test_it.py").read_text("utf-8")
    (folder / "test_it.py").write_text(text.replace("sys.executable", '"no-such"'), "utf-8")
    run_pytest(folder, CI="true")
    run_pytest(folder, "--mcp-cassettes=all", code=1)


def test_what_is_left_unplayed_or_changed_fails(folder: Path) -> None:
    """F-API-25."""
    run_pytest(folder)
    path = folder / "test_it.py"
    text = path.read_text("utf-8")
    path.write_text(text.replace("mcp_check_tools(await client.list_tools())", "pass"), "utf-8")
    assert "recorded call was not made" in run_pytest(folder, code=1)
    path.write_text(text.replace("(await client.list_tools())", "([])"), "utf-8")
    assert "the tools have changed" in run_pytest(folder, "-k", "one", code=1)
    assert "recorded call was not made" in run_pytest(folder, "--mcp-update", "-k", "one", code=1)
    snapshot = folder / "snapshots" / "test_it.test_echo-one.json"
    assert snapshot.read_text("utf-8") == "[]\n"


def test_a_test_that_fails_leaves_no_cassette_behind(folder: Path) -> None:
    (folder / "test_it.py").write_text(BROKEN, "utf-8")
    assert "on purpose" in run_pytest(folder, code=1)
    assert not list(folder.glob("*/*.jsonl*"))
