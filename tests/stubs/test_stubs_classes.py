"""Calls through the stubs of the demo server: F-STUB-1."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mcpclient import sync
from mcpclient.errors import ToolError, UsageError
from mcpclient.protocol.types import Tool
from mcpclient.stubs import Offer, stubs_for
from mcpclient.stubs.stubs import UNSET, digest_of
from tests.support.subprocesses import TOP

DEMO = [sys.executable, str(TOP / "mcpclient" / "testing" / "demo_server.py")]


@pytest.fixture(scope="module")
def stubs() -> Any:
    with sync.connect(DEMO) as client:
        offer = Offer(
            "demo",
            client.list_tools(),
            client.list_prompts(),
            client.list_resource_templates(),
            DEMO,
        )
    return imported(stubs_for(offer))


def imported(source: str) -> Any:
    module = ModuleType("demo_stubs")
    exec(compile(source, "demo_stubs.py", "exec"), module.__dict__)
    return module


def test_methods_call_what_they_are_named_after(stubs: Any) -> None:
    """F-STUB-1: and give what `call_tool`, `get_prompt` and `read_resource` give."""
    with stubs.Demo.connect() as demo:
        client = demo.client
        assert demo.add(a=1, b=2) == client.call_tool("add", {"a": 1, "b": 2}).data
        assert demo.echo(message="hi").text == "hi"
        assert (
            demo.prompt_haiku(topic="rain").raw == client.get_prompt("haiku", {"topic": "rain"}).raw
        )
        assert "you" in demo.read_greeting(name="you").text
        with pytest.raises(ToolError):
            demo.fail(reason="no")


def test_coroutines_do_the_same(stubs: Any) -> None:
    """F-STUB-1"""

    async def main() -> None:
        async with stubs.DemoAsync.connect() as demo:
            assert await demo.add(a=1, b=2) == {"sum": 3}
            assert (await demo.echo(message="hi")).text == "hi"
            assert (await demo.prompt_haiku(topic="rain")).messages
            assert "you" in (await demo.read_greeting(name="you")).text

    asyncio.run(main())


def test_a_server_with_other_tools_is_told_of_or_refused(stubs: Any) -> None:
    """F-STUB-1"""
    other: Any = type("Demo", (stubs.Demo,), {"DIGEST": "0" * 64})
    with pytest.warns(UserWarning, match="Demo was made from other tools"):
        other.connect().close()
    with pytest.raises(UsageError, match="other tools"):
        other.connect(check="refuse")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other.connect(check="ignore").close()

    async def main() -> None:
        changed: Any = type("DemoAsync", (stubs.DemoAsync,), {"DIGEST": ""})
        with pytest.raises(UsageError, match="other tools"):
            async with changed.connect(check="refuse"):
                pass

    asyncio.run(main())


@pytest.mark.slow
def test_a_configured_server_is_found_by_its_name(
    stubs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-STUB-1: and judged as any other entry of the file."""
    folder = tmp_path / "config" / "mcpclient"
    folder.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    entry = {"command": DEMO[0], "args": DEMO[1:]}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"mine": entry}}))
    program = f"""
import sys; sys.path.insert(0, {str(TOP)!r})
from mcpclient.stubs import Stub
class Mine(Stub):
    CONFIGURED = "mine"
with Mine.connect(check="ignore") as mine:
    print(mine.client.call_tool("echo", {{"message": "hi"}}).text)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "hi\n", done.stderr
    unknown: Any = type("Mine", (stubs.DemoAsync,), {"CONFIGURED": "other", "TARGET": None})
    with pytest.raises(UsageError, match="other"):
        unknown.connect()

    async def main() -> None:
        mine: Any = type("Mine", (stubs.DemoAsync,), {"CONFIGURED": "mine", "TARGET": None})
        async with mine.connect() as demo:
            assert (await demo.echo(message="hi")).text == "hi"

    asyncio.run(main())


def test_the_digest_is_of_what_a_caller_relies_on() -> None:
    """F-STUB-1: in any order; icons and titles do not count."""
    one, two = Tool({"name": "a"}), Tool({"name": "b", "title": "B"})
    assert digest_of([one, two]) == digest_of([Tool({"name": "b"}), one])
    assert digest_of([one]) != digest_of([Tool({"name": "a", "description": "x"})])
    hints = {"annotations": {"destructiveHint": True}}  # by which a host decides whether to ask
    assert digest_of([one]) != digest_of([Tool({"name": "a", **hints})])
    assert repr(UNSET) == "UNSET"
