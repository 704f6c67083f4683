"""WebSocket servers that break the rules of RFC 6455, each in its own way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Callable

import pytest

import mcpclient
from mcpclient import Client
from mcpclient.errors import ConnectionLost, McpError, MessageTooLarge, ProtocolViolation
from tests.net.websocket_peer import BINARY, CLOSE, PING, PONG, TEXT, Peer, frame, websocket_server
from tests.support.mcp_server import Json, McpServer

pytestmark = pytest.mark.virtual_time

CONTINUATION = 0
LIMIT = 100_000


def fragment(opcode: int, payload: bytes) -> bytes:
    """A frame that is not the last one of its message."""
    whole = frame(opcode, payload)
    return bytes((opcode,)) + whole[1:]


def masked(opcode: int, payload: bytes) -> bytes:
    """A frame as only clients may send it."""
    whole = frame(opcode, payload)
    head = len(whole) - len(payload)
    return whole[:1] + bytes((whole[1] | 0x80,)) + whole[2:head] + b"\0\0\0\0" + payload


def close(code: int, reason: bytes = b"") -> bytes:
    return frame(CLOSE, code.to_bytes(2, "big") + reason)


def text_of(message: Json) -> bytes:
    content = [{"type": "text", "text": "hello"}]
    return json.dumps(
        {"jsonrpc": "2.0", "id": message["id"], "result": {"content": content}}
    ).encode()


Frames = Callable[[bytes], bytes]
"""Gives the bytes that answer a call; it is given the proper answer."""


@asynccontextmanager
async def connected(frames: Frames, **options: Any) -> AsyncIterator[Client]:
    """Connect to a server that answers the tool ``odd`` with ``frames``."""
    mcp = McpServer()

    async def script(peer: Peer) -> None:
        await peer.accept("Sec-WebSocket-Protocol: mcp")
        while True:
            opcode, payload = await peer.receive()
            if opcode == CLOSE:
                peer.send(CLOSE, payload)
                return
            if opcode != TEXT:
                continue
            message = json.loads(payload)
            if (message.get("params") or {}).get("name") == "odd":
                peer.writer.write(frames(text_of(message)))
            else:
                mcp.receive(message, lambda reply: peer.send(TEXT, json.dumps(reply).encode()))

    async with websocket_server(script) as url:
        client = await mcpclient.connect(
            url, protocol_version="2025-11-25", max_message_size=LIMIT, **options
        )
        yield client
        await client.connect()
        assert (await client.call_tool("echo", {"text": "and on"})).text == "and on"
        began = asyncio.get_running_loop().time()
        await client.close()
        assert asyncio.get_running_loop().time() - began <= 2


FINE: dict[str, Frames] = {
    "binary": lambda text: frame(BINARY, text),
    "in pieces": lambda text: (
        fragment(TEXT, text[:9])
        + fragment(CONTINUATION, text[9:20])
        + frame(CONTINUATION, text[20:])
    ),
    "in bytes": lambda text: (
        fragment(TEXT, b"")
        + b"".join(fragment(CONTINUATION, text[n : n + 1]) for n in range(len(text)))
        + frame(CONTINUATION)
    ),
    "pings between": lambda text: (
        fragment(TEXT, text[:9])
        + frame(PING, b"?")
        + frame(PONG, b"unasked")
        + frame(CONTINUATION, text[9:])
    ),
    "empty message before": lambda text: frame(TEXT) + frame(TEXT, text),
    "answer and goodbye": lambda text: frame(TEXT, text) + close(1000),
}


@pytest.mark.parametrize("frames", list(FINE.values()), ids=list(FINE))
async def test_what_is_allowed(frames: Frames) -> None:
    """F-WIRE-6, F-WS-1"""
    async with connected(frames) as client:
        assert (await client.call_tool("odd")).text == "hello"
        await asyncio.sleep(1)  # for the goodbye


CODES = {
    1000: "1000",
    1001: "1001",
    1008: "1008",
    1009: "larger than it takes",
    1011: "1011",
    1012: "1012",
    3000: "3000",
    4999: "4999",
}


@pytest.mark.parametrize("code", list(CODES))
async def test_the_server_closes(code: int) -> None:
    """F-WS-2, F-LIFE-7: calls fail with the code and the reason."""
    async with connected(lambda text: close(code, b"because")) as client:
        with pytest.raises(ConnectionLost) as caught:
            await client.call_tool("odd")
        assert type(caught.value) is ConnectionLost
        assert CODES[code] in str(caught.value)
        assert "because" in str(caught.value)
        assert not client.is_connected


def closing(code: int) -> Frames:
    return lambda text: close(code)


WRONG: dict[str, Frames] = {
    **{f"code {code}": closing(code) for code in (0, 999, 1004, 1005, 1006, 1015, 2999, 5000)},
    "half a code": lambda text: frame(CLOSE, b"\x03"),
    "reason not UTF-8": lambda text: close(1000, b"\xff"),
    "long reason": lambda text: close(1000, b"x" * 124),
    "masked": lambda text: masked(TEXT, text),
    "fragmented ping": lambda text: fragment(PING, b"x"),
    "fragmented close": lambda text: fragment(CLOSE, b""),
    "long ping": lambda text: frame(PING, b"x" * 126),
    "continuation of nothing": lambda text: frame(CONTINUATION, text),
    "message in a message": lambda text: fragment(TEXT, text[:9]) + frame(TEXT, text),
    "reserved opcode": lambda text: frame(3, text),
    "reserved control opcode": lambda text: frame(11, b""),
    "compressed without agreement": lambda text: b"\xc1" + frame(TEXT, text)[1:],
    "not UTF-8": lambda text: frame(TEXT, b"\xc3\x28"),
    "not UTF-8 over frames": lambda text: fragment(TEXT, b"\xc3") + frame(CONTINUATION, b"\x28"),
    "cut off within a character": lambda text: frame(TEXT, b"\xc3"),
    "length with a sign": lambda text: b"\x81\x7f" + b"\xff" * 8,
}


@pytest.mark.parametrize("frames", list(WRONG.values()), ids=list(WRONG))
async def test_what_breaks_the_protocol_ends_the_connection(frames: Frames) -> None:
    """F-WIRE-6: every call fails with the fault; the next connection is a good one."""
    async with connected(frames) as client:
        beside = asyncio.ensure_future(client.call_tool("never"))
        for call in (client.call_tool("odd"), beside):
            with pytest.raises(ProtocolViolation) as caught:
                await call
            assert str(caught.value)
        assert asyncio.get_running_loop().time() == 0
        assert not client.is_connected


LARGE: dict[str, Frames] = {
    "announced": lambda text: frame(TEXT, b"x" * (LIMIT + 1))[:20],
    "far too large": lambda text: b"\x81\x7f\x7f" + b"\xff" * 7,
    "in pieces": lambda text: fragment(TEXT, b"") + fragment(CONTINUATION, b"x" * 1000) * 101,
}


@pytest.mark.parametrize("frames", list(LARGE.values()), ids=list(LARGE))
async def test_what_is_too_large_is_not_waited_for(frames: Frames) -> None:
    """F-WIRE-6: large messages."""
    async with connected(frames) as client:
        with pytest.raises(MessageTooLarge) as caught:
            await client.call_tool("odd")
        assert caught.value.limit == LIMIT
        assert asyncio.get_running_loop().time() == 0


async def test_endless_empty_fragments_are_no_answer() -> None:
    """F-WIRE-6, F-API-7: they cost no memory; the call has its limit."""
    empty = fragment(TEXT, b"") + fragment(CONTINUATION, b"") * 100_000 + frame(CONTINUATION)
    async with connected(lambda text: empty) as client:
        with pytest.raises(McpError):
            await client.call_tool("odd", timeout=5)
