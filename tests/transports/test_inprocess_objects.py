"""F-API-24: server objects, told apart by their attributes. The real ones are in `conformance`."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Any

import pytest

import mcpclient
from tests.support.mcp_server import McpServer

pytestmark = pytest.mark.virtual_time


class LowLevel:
    """As in the SDK: it runs between two streams."""

    def __init__(self) -> None:
        self.server = McpServer("both")

    def create_initialization_options(self) -> str:
        return "options"

    async def run(self, read: Any, write: Any, options: str) -> None:
        assert options == "options"
        async for line in read:
            answers: list[Any] = []
            self.server.receive(json.loads(line), answers.append)
            for answer in answers:
                await write.write(json.dumps(answer) + "\n")
                await write.flush()


class HighLevel:
    """As in the SDK and in fastmcp: it holds a low-level one, and has another ``run``."""

    name = "high"

    def __init__(self, attribute: str) -> None:
        setattr(self, attribute, LowLevel())

    def run(self) -> None:
        raise AssertionError


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package that the objects are from, with its ``server.stdio``."""

    @asynccontextmanager
    async def stdio_server(stdin: Any, stdout: Any) -> AsyncIterator[tuple[Any, Any]]:
        yield stdin, stdout

    for name in ("sdk", "sdk.server", "sdk.server.stdio"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules["sdk.server.stdio"].stdio_server = stdio_server  # type: ignore[attr-defined]
    monkeypatch.setattr(LowLevel, "__module__", "sdk.server.lowlevel")


@pytest.mark.parametrize("make", [LowLevel, "_mcp_server", "_lowlevel_server"])
@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_a_server_object_is_a_target(make: Any, version: str, package: None) -> None:
    """F-API-24: in both eras."""
    server: Any = HighLevel(make) if isinstance(make, str) else make()
    async with mcpclient.connect(server, protocol_version=version) as client:
        assert (await client.call_tool("echo", {"text": "x"})).text == "x"
        assert client.transport_name == "in-process"


async def test_a_lifespan_of_its_own_is_entered(package: None) -> None:
    """As fastmcp's, which its low-level server leaves to who runs it."""
    seen: list[str] = []

    class WithLifespan(HighLevel):
        @asynccontextmanager
        async def _lifespan_manager(self) -> AsyncIterator[None]:
            seen.append("begin")
            yield
            seen.append("end")

    server: Any = WithLifespan("_mcp_server")
    async with mcpclient.connect(server) as client:
        await client.list_tools()
        assert seen == ["begin"] and "in-process high" in repr(client)
    assert seen == ["begin", "end"]
