"""Listing and calling tools."""

from __future__ import annotations

import logging
import os
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.inprocess import InProcessTransport
from tests.client.inside import VERSIONS, Server
from tests.support.virtual_time import run

pytestmark = pytest.mark.virtual_time

ECHO = {"name": "echo", "inputSchema": {"type": "object"}, "vendor": {"kept": True}}


@pytest.mark.parametrize("version", VERSIONS)
async def test_tools_are_listed_with_all_they_have(version: str) -> None:
    """F-API-2, F-WIRE-8: fields this library does not know are kept."""
    server = Server(tools_list={"tools": [ECHO, {"name": "other"}, "no tool"]})
    async with server.client(protocol_version=version) as client:
        tools = await client.list_tools()
        assert [tool.name for tool in tools] == ["echo", "other"]
        assert tools[0].raw == ECHO
        assert server.asked == [("tools/list", {})]


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_call_is_followed_in_three_files(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-API-2: all that stands between the caller and the transport."""
    passed: list[str] = []
    send = InProcessTransport.send

    def watched(transport: InProcessTransport, outgoing: Outgoing) -> None:
        passed.extend(Path(frame.filename).as_posix() for frame in traceback.extract_stack())
        send(transport, outgoing)

    async with Server(tools_call={"content": []}).client(protocol_version=version) as client:
        with monkeypatch.context() as patched:
            patched.setattr(InProcessTransport, "send", watched)
            await client.call_tool("echo", {"message": "hi"})
    package = os.path.dirname(mcpclient.__file__) + os.sep
    files = [path[len(package) :] for path in passed if path.startswith(f"{package}client{os.sep}")]
    assert list(dict.fromkeys(files)) == [
        "client/requests.py",
        "client/connection/call_recovery.py",
        "client/connection/session.py",
    ]


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_call_is_exactly_one_request(version: str) -> None:
    """F-API-19: nothing is listed behind the caller's back."""
    server = Server(tools_call={"content": [{"type": "text", "text": "hi"}]})
    async with server.client(protocol_version=version) as client:
        assert (await client.call_tool("echo", {"message": "hi"})).text == "hi"
        assert (await client.call_tool("echo")).text == "hi"
        assert server.asked == [
            ("tools/call", {"name": "echo", "arguments": {"message": "hi"}}),
            ("tools/call", {"name": "echo", "arguments": {}}),
        ]


async def test_a_failing_tool_is_a_result_or_an_exception_as_asked() -> None:
    """F-API-2: both carry what the tool said."""
    server = Server(tools_call={"content": [{"type": "text", "text": "broken"}], "isError": True})
    async with server.client() as client:
        assert (await client.call_tool("bad")).is_error
        with pytest.raises(mcpclient.ToolError, match="tool 'bad' failed: broken") as raised:
            await client.call_tool("bad", raise_on_error=True)
        assert raised.value.tool == "bad"
        assert raised.value.result.is_error


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


@dataclass
class Sum:
    sum: float


async def test_a_result_as_a_type_of_the_caller() -> None:
    """F-API-3: one request, and an object instead of a result."""
    server = Server(tools_call={"content": [], "structuredContent": {"sum": 3}})
    async with server.client() as client:
        total: Sum = await client.call_tool("add", {"a": 1, "b": 2}, returns=Sum)
        assert total == Sum(3.0)
        with pytest.raises(mcpclient.ResultMismatch, match="expected text, got an object"):
            await client.call_tool("add", returns=str)
        assert len(server.asked) == 2


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
    """F-API-2: nothing is sent, and nobody waits for an answer."""
    server = Server(tools_call={"content": []}, prompts_get={"messages": []})
    async with server.client(protocol_version=version) as client:
        with pytest.raises(mcpclient.UsageError, match="arguments"):
            await client.call_tool("echo", arguments)
        with pytest.raises(mcpclient.UsageError, match="arguments"):
            await client.get_prompt("echo", arguments)
        assert server.asked == []


async def test_a_timeout_names_the_tool_and_the_server() -> None:
    """F-API-20"""
    async with Server(tools_call=lambda params: None).client() as client:
        for limit in ("timeout", "max_timeout"):
            limits: Any = {limit: 3}
            with pytest.raises(mcpclient.CallTimeout) as caught:
                await client.call_tool("slow", {"password": "s3cret"}, **limits)
            assert caught.value.subject == "slow"
            assert str(caught.value) == (
                f"tools/call 'slow' of in-process serve: no answer within 3 s ({limit})"
            )
