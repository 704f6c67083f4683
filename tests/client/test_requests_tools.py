"""Listing and calling tools."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import mcpclient
from tests.client.inside import VERSIONS, Server
from tests.support.virtual_time import run

pytestmark = pytest.mark.virtual_time

ECHO = {"name": "echo", "inputSchema": {"type": "object"}, "vendor": {"kept": True}}


class HeaderTransport(mcpclient.InProcessTransport):
    """An in-process transport that claims to have headers."""

    carries_headers = True


def test_tools_with_invalid_header_annotations_are_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """F-HTTP-9: the tool, never the list, and only where there are headers."""
    bad = {"properties": {"a": {"type": "number", "x-mcp-header": "A"}}}
    server = Server(tools_list={"tools": [ECHO, {"name": "bad", "inputSchema": bad}]})

    async def listed(transport: mcpclient.Transport) -> list[str]:
        async with mcpclient.connect(transport, protocol_version="2026-07-28") as client:
            return [tool.name for tool in await client.list_tools()]

    with caplog.at_level(logging.WARNING):
        assert run(listed(HeaderTransport(server.serve))) == ["echo"]
    assert "left out tool 'bad'" in caplog.text
    assert run(listed(mcpclient.InProcessTransport(server.serve))) == ["echo", "bad"]


@pytest.mark.parametrize("validate", ["warn", "off"])
async def test_the_data_has_one_shape_whatever_was_called_before(validate: str) -> None:
    """F-API-3, F-API-29: before a listing, after it, and by the function that connects."""
    wrapped = {"result": [1, 2]}
    schema = {"type": "object", "properties": {"result": {}}, "x-fastmcp-wrap-result": True}
    server = Server(
        tools_list={"tools": [{**ECHO, "outputSchema": schema}, {"name": "plain"}]},
        tools_call={"content": [], "structuredContent": wrapped},
    )
    async with server.client(validate=validate) as client:
        before = await client.call_tool("echo")
        await client.list_tools()
        for result in (before, await client.call_tool("echo"), await client.call_tool("plain")):
            assert (result.data, result.structured, result.is_wrapped) == ([1, 2], wrapped, True)
        assert await client.call_tool("echo", returns=list[int]) == [1, 2]


@pytest.mark.parametrize("arguments", [["a"], "text", {1: 2}, 5, {("a",): 1}, [], 0, ""])
@pytest.mark.parametrize("version", VERSIONS)
async def test_arguments_that_are_no_object_are_not_sent(version: str, arguments: Any) -> None:
    """F-API-2: nothing is sent, and no call waits for an answer."""
    server = Server(tools_call={"content": []}, prompts_get={"messages": []})
    async with server.client(protocol_version=version) as client:
        with pytest.raises(mcpclient.UsageError, match="arguments"):
            await client.call_tool("echo", arguments)
        with pytest.raises(mcpclient.UsageError, match="arguments"):
            await client.get_prompt("echo", arguments)
        assert server.asked == []
