"""Requests and notifications of any name, from any event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

import mcpclient
from mcpclient.client.listed_tools import checked_arguments
from tests.client.inside import Server
from tests.client.scripted_server import ScriptedServer

pytestmark = pytest.mark.virtual_time


def pages(seconds: float, human: Any = None) -> Any:
    """Answer with one new page after another, each after so many seconds."""

    async def page(params: Mapping[str, Any]) -> Mapping[str, Any]:
        await asyncio.sleep(seconds)
        if human is not None:
            await human()
        number = int(params.get("cursor", "0"))
        tools = [{"name": f"t{number}", "inputSchema": {}}]
        return {"tools": tools, **({"nextCursor": str(number + 1)} if number < 9 else {})}

    return page


@pytest.mark.parametrize(
    ("limit", "reached"), [(2, True), (2.25, True), (5.5, False), (None, False)]
)
async def test_a_list_has_one_limit_for_all_its_pages(limit: float | None, reached: bool) -> None:
    """F-API-7, F-API-9: a server that always has another page does not go on for ever."""
    server = ScriptedServer({"tools/list": pages(0.5)})
    async with server.client(max_timeout=limit) as client:
        loop = asyncio.get_running_loop()
        began = loop.time()
        if reached:
            with pytest.raises(mcpclient.CallTimeout) as caught:
                await client.list_tools()
            assert (caught.value.seconds, caught.value.limit) == (limit, "total")
        else:
            assert len(await client.list_tools()) == 10
        assert loop.time() - began == (limit if reached else 5)


async def test_a_silent_page_is_told_apart_from_a_long_list() -> None:
    """F-API-7"""
    server = ScriptedServer({"tools/list": pages(3)})
    async with server.client(timeout=2, max_timeout=10) as client:
        with pytest.raises(mcpclient.CallTimeout) as caught:
            await client.list_tools()
        assert (caught.value.seconds, caught.value.limit) == (2, "idle")


def test_a_loop_that_has_ended_is_named() -> None:
    """F-LIFE-5: instead of waiting for ever."""
    home = asyncio.new_event_loop()
    client = home.run_until_complete(Server().client().connect())
    with pytest.raises(mcpclient.ConnectionLost, match=r"event loop .* has ended"):
        asyncio.run(client.request("vendor/ask"))
    home.run_until_complete(client.close())
    home.close()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1], "arguments are a mapping"),
        ("x", "not str"),
        ({1: 2}, "names of arguments are strings"),
    ],
)
def test_arguments_are_a_mapping_of_strings(given: Any, message: str) -> None:
    """F-API-2"""
    with pytest.raises(mcpclient.UsageError, match=message):
        checked_arguments(given)
    assert checked_arguments(None) == {}
    assert checked_arguments({"a": 1}) == {"a": 1}
