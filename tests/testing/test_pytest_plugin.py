"""F-API-25: the fixtures, in a pytest within this one."""

from __future__ import annotations

import pytest

from tests.support.subprocesses import TOP

pytest_plugins = ["pytester"]


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


@pytest.fixture
def folder(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with two tests, whose pytest runs in this process."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeini("[pytest]")  # or pytest looks for one above, and lists all it finds there
    pytester.makeconftest('pytest_plugins = ["mcpclient.testing.pytest_plugin"]')
    server = TOP / "mcpclient" / "testing" / "demo_server.py"
    pytester.path.joinpath("test_it.py").write_text(TESTS.format(server=str(server)), "utf-8")
    return pytester


def outcome(folder: pytest.Pytester, *options: str, fails: bool = False) -> str:
    """Run the tests and return what pytest says."""
    result = folder.runpytest_inprocess("-q", "-p", "no:cacheprovider", *options)
    assert result.ret == (1 if fails else 0)
    return str(result.stdout)


def test_each_test_has_a_cassette_and_a_snapshot(
    folder: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-API-25: recorded by the first run, replayed without the server by the second."""
    assert "recorded call" not in outcome(folder)
    names = sorted(
        each.relative_to(folder.path).as_posix() for each in folder.path.glob("*/*.json*")
    )
    assert names == [
        *("cassettes/test_it.test_echo-one.jsonl", "cassettes/test_it.test_echo-two-three.jsonl"),
        *("snapshots/test_it.test_echo-one.json", "snapshots/test_it.test_echo-two-three.json"),
    ]
    text = (folder.path / "test_it.py").read_text("utf-8")
    (folder.path / "test_it.py").write_text(text.replace("sys.executable", '"no-such"'), "utf-8")
    monkeypatch.setenv("CI", "true")
    outcome(folder)
    outcome(folder, "--mcp-cassettes=all", fails=True)


@pytest.mark.slow
def test_what_is_left_unplayed_or_changed_fails(folder: pytest.Pytester) -> None:
    """F-API-25."""
    outcome(folder)
    path = folder.path / "test_it.py"
    text = path.read_text("utf-8")
    path.write_text(text.replace("mcp_check_tools(await client.list_tools())", "pass"), "utf-8")
    assert "recorded call was not made" in outcome(folder, fails=True)
    path.write_text(text.replace("(await client.list_tools())", "([])"), "utf-8")
    assert "the tools have changed" in outcome(folder, "-k", "one", fails=True)
    assert "recorded call was not made" in outcome(folder, "--mcp-update", "-k", "one", fails=True)
    snapshot = folder.path / "snapshots" / "test_it.test_echo-one.json"
    assert snapshot.read_text("utf-8") == "[]\n"
