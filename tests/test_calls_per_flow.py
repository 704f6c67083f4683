"""The number of functions that a call passes, and an opening: no layer only forwards.

A layer more is seen here before any clock would show it. Imports are not counted.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

import mcpclient
from mcpclient.client.connection import opening
from mcpclient.client.connection.session import Session
from tests.support.http_server import HttpServer
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer
from tests.support.subprocesses import TOP

PACKAGE = os.path.dirname(mcpclient.__file__) + os.sep
DEMO = [sys.executable, str(TOP / "mcpclient" / "testing" / "demo_server.py")]


class Passed:
    """The number of times that functions were entered, coroutines that go on included."""

    def __init__(self) -> None:
        self.count = 0

    def note(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        # The body of a module or of a class is not a function.
        if event == "call" and code.co_flags & inspect.CO_OPTIMIZED:
            self.count += code.co_filename.startswith(PACKAGE)


@contextmanager
def counted() -> Iterator[Passed]:
    passed, before = Passed(), sys.getprofile()
    gc.collect()  # what has gone already is not to be freed meanwhile
    gc.disable()
    sys.setprofile(passed.note)
    try:
        yield passed
    finally:
        sys.setprofile(before)
        gc.enable()


async def costs(target: Any, **options: Any) -> tuple[int, int]:
    """Return what opening costs, and one call, when everything is imported and has been used."""
    async with mcpclient.connect(target, **options) as client:
        await client.list_tools()
    with counted() as opening:
        client = await mcpclient.connect(target, **options)
    for _ in range(3):
        await client.call_tool("echo", {"message": "x", "text": "x"})
    with counted() as call:
        await client.call_tool("echo", {"message": "x", "text": "x"})
    await client.close()
    return opening.count, call.count


@pytest.fixture(autouse=True)
def _same_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith("MCP_"):
            monkeypatch.delenv(name)
    # The number of looks at a server that starts slowly depends on the machine.
    monkeypatch.setattr(opening, "_LOOK_EVERY", 60)


# What they cost at the most. A change that needs more says here why it is worth that.
# Opening: which opener a server took is looked at in steps, and a try starts one process.
PROCESS = {"2025-11-25": (282, 47), "2026-07-28": (236, 48)}
HTTP = {"handshake": (563, 105), "stateless": (345, 109)}


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="threads do a part of it elsewhere")
@pytest.mark.parametrize("version", PROCESS)
def test_a_server_process(version: str) -> None:
    opening, call = asyncio.run(costs(DEMO, protocol_version=version))
    assert opening <= PROCESS[version][0]
    assert call <= PROCESS[version][1]


@pytest.mark.skipif(sys.platform == "win32", reason="another event loop passes other functions")
@pytest.mark.parametrize("era", HTTP)
def test_a_server_over_http(era: str) -> None:
    async def main() -> tuple[int, int]:
        async with HttpServer(StreamableEndpoint(McpServer(era)).routes) as server:
            return await costs(str(server.url("/mcp")))

    opening, call = asyncio.run(main())
    assert opening <= HTTP[era][0]
    assert call <= HTTP[era][1]


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="threads do a part of it elsewhere")
def test_a_toolbox() -> None:
    """A turn of one call, and a call of an agent tool."""

    async def main() -> tuple[int, int]:
        async with mcpclient.connect(DEMO) as client:
            box = await client.toolbox("openai_responses")
            called = {"type": "function_call", "call_id": "x", "name": "echo", "arguments": "{}"}
            response = {"output": [{**called, "arguments": '{"message": "x", "text": "x"}'}]}
            (tool,) = [each for each in box.agent_tools if each.name == "echo"]
            for _ in range(3):
                await box.run(response)
                await tool.execute({"message": "x"})
            with counted() as turn:
                await box.run(response)
            with counted() as call:
                await tool.execute({"message": "x"})
            return turn.count, call.count

    turn, call = asyncio.run(main())
    assert turn <= 114
    assert call <= 98


@pytest.mark.parametrize(("options", "most"), [({}, 65), ({"exclude": ("none",)}, 70)])
def test_a_server_of_a_manager(options: dict[str, Any], most: int) -> None:
    """A call by its full name; also where a filter looks at it."""

    async def main() -> int:
        server = mcpclient.ServerConfig("a", target=DEMO, **options)
        async with mcpclient.connect_all({"a": server}) as manager:
            for _ in range(3):
                await manager.call_tool("a__echo", {"text": "x"})
            with counted() as call:
                await manager.call_tool("a__echo", {"text": "x"})
        return call.count

    assert asyncio.run(main()) <= most


@pytest.mark.slow
def test_a_layer_more_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows above could fail: one function more is one too many."""
    send = Session.begin
    path = inspect.getfile(Session)  # a file that is there, since coverage looks for it
    source = "def begin(*arguments, **named): return send(*arguments, **named)"
    layer: dict[str, Any] = {"send": send}
    exec(compile(source, path, "exec"), layer)
    version = "2026-07-28"
    plain = asyncio.run(costs(DEMO, protocol_version=version))
    monkeypatch.setattr(Session, "begin", layer["begin"])
    assert asyncio.run(costs(DEMO, protocol_version=version)) == (plain[0] + 1, plain[1] + 1)
