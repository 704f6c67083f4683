"""Servers on stdio that die, stall and talk rubbish, seen through a client."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, Callable

import pytest

from mcpclient import CallToolResult, Client, StopLadder
from mcpclient.errors import (
    CallTimeout,
    McpError,
    MessageTooLarge,
    PeerError,
    ProcessExited,
    ProtocolViolation,
)
from mcpclient.transports.stdio import StdioTransport

SERVER = [
    sys.executable,
    "-S",
    "-E",
    str(Path(__file__).parent.parent / "servers" / "mcp_stdio.py"),
]
QUICK = StopLadder(close_input=0.3, terminate=0.3)
# A bound on what takes milliseconds; it only has to be less than any timeout of a call.
SOON = 10.0


def with_client(work: Callable[[Client], Awaitable[None]], *arguments: str, **options: Any) -> None:
    async def main() -> None:
        command = [*SERVER, *arguments]
        options.setdefault("protocol_version", "2025-11-25")
        async with Client(command, stderr="discard", stop_ladder=QUICK, **options) as client:
            await work(client)

    asyncio.run(main())


async def echo(client: Client, text: str = "x") -> None:
    assert (await client.call_tool("echo", {"text": text})).text == text


def process_of(client: Client) -> int:
    transport = client._connection.session.transport
    assert isinstance(transport, StdioTransport)
    assert transport.process_id is not None
    return transport.process_id


@pytest.mark.needs_posix
def test_a_server_killed_in_the_middle_fails_every_waiting_call() -> None:
    """F-LIFE-7, pain 1, pain 10, pain 35: with the reason, and never as a cancellation."""

    async def work(client: Client) -> None:
        calls = [asyncio.ensure_future(client.call_tool("never")) for _ in range(50)]
        await echo(client)
        os.kill(process_of(client), signal.SIGKILL)
        began = time.monotonic()
        errors = await asyncio.gather(*calls, return_exceptions=True)
        assert time.monotonic() - began < SOON
        for error in errors:
            assert isinstance(error, ProcessExited)
            assert error.exit_code == -signal.SIGKILL
        assert not client.is_connected
        await client.connect()
        await echo(client)

    with_client(work)


def test_a_server_that_dies_of_a_call_says_why() -> None:
    """F-LIFE-7, pain 10: the end of a long stderr, and the exit code."""

    async def work(client: Client) -> None:
        closed: list[McpError | None] = []
        waiting = asyncio.ensure_future(client.call_tool("never"))
        stderr = "noise\n" * 2000 + "Traceback: the disk is full\n"
        with pytest.raises(ProcessExited) as caught:
            await client.call_tool("die", {"code": 7, "stderr": stderr})
        assert caught.value.exit_code == 7
        assert caught.value.stderr.endswith("the disk is full\n")
        assert len(caught.value.stderr) <= 4096
        assert "the disk is full" in str(caught.value)
        with pytest.raises(ProcessExited):
            await waiting
        assert closed == []

    with_client(work)


RUBBISH = {
    "banner": b"a banner\n",
    "bom": b"\xef\xbb\xbf",
    "not utf-8": b"\xff\xfe\n",
    "nested": b"[" * 100_000 + b"\n",
    "NaN as result": b'{"jsonrpc": "2.0", "id": {id}, "result": NaN}\n',
    "infinite code": b'{"id": {id}, "error": {"code": Infinity, "message": []}}\n',
    "content that is no list": b'{"id": {id}, "result": {"content": "no list"}}\n',
    "half an answer": b'{"jsonrpc": "2.0", "id": {id}, "result\n',
    "answer not in utf-8": b'{"jsonrpc": "2.0", "id": {id}, "result": "\xff"}\n',
    "nested answer": b'{"jsonrpc": "2.0", "id": {id}, "result": ' + b"[" * 100_000 + b"\n",
    "unwanted progress": (
        b'{"method": "notifications/progress", "params": {"progressToken": {id}}}\n'
    ),
    "odd cancellation": b'{"method": "notifications/cancelled", "params": {"requestId": {}}}\n',
    "odd log message": b'{"method": "notifications/message", "params": {"level": {}}}\n',
    "odd methods and ids": (
        b'{"method": 7}\n{"id": {}, "method": "ping"}\n{"id": true, "method": "ping"}\n'
    ),
}


@pytest.mark.parametrize("rubbish", list(RUBBISH.values()), ids=list(RUBBISH))
def test_rubbish_fails_at_most_the_call_it_answers(rubbish: bytes) -> None:
    """F-WIRE-3, F-WIRE-7, pain 16, pain 17: the answer that follows is late or counts."""

    async def work(client: Client) -> None:
        beside = asyncio.ensure_future(client.call_tool("hold", {"text": "beside"}))
        calling = client.call_tool("raw", {"hex": rubbish.hex(), "answers": True}, timeout=SOON)
        (outcome,) = await asyncio.gather(calling, return_exceptions=True)
        assert isinstance(outcome, (CallToolResult, PeerError, ProtocolViolation))
        await client.call_tool("release")
        assert (await beside).text == "beside"
        await echo(client)

    with_client(work)


def test_a_message_over_the_limit_fails_its_call() -> None:
    """F-WIRE-3, pain 19"""

    async def work(client: Client) -> None:
        with pytest.raises(MessageTooLarge):
            await client.call_tool("echo", {"text": "x" * 200_000})
        await echo(client)

    with_client(work, max_message_size=100_000)


def test_a_batch_is_taken_apart() -> None:
    """F-HTTP-3: revision 2025-03-26 allows it on every transport."""

    async def work(client: Client) -> None:
        batch = b'[{"method": "vendor/x"}, {"jsonrpc": "2.0", "id": {id}, "result": {}}]\n'
        assert (await client.call_tool("raw", {"hex": batch.hex()})).raw == {}

    with_client(work)


def test_a_server_that_never_reads_costs_only_its_own_calls() -> None:
    """F-STD-5, F-LIFE-6: they time out, and closing is bounded."""

    async def work(client: Client) -> None:
        deaf = asyncio.ensure_future(client.call_tool("deaf", timeout=0.2))
        calls = [
            asyncio.ensure_future(client.call_tool("echo", {"text": "x" * 100_000}, timeout=0.2))
            for _ in range(20)
        ]
        errors = await asyncio.gather(deaf, *calls, return_exceptions=True)
        assert all(isinstance(error, CallTimeout) for error in errors)
        assert client.is_connected

    began = time.monotonic()
    with_client(work)
    assert time.monotonic() - began < SOON


def test_a_server_that_never_answers_costs_only_its_own_calls() -> None:
    """F-API-7, pain 1"""

    async def work(client: Client) -> None:
        with pytest.raises(CallTimeout):
            await client.call_tool("never", timeout=0.05)
        await echo(client)

    with_client(work)


def test_a_large_answer_and_small_ones_beside_it() -> None:
    """Pain 19, F-LIFE-9"""

    async def work(client: Client) -> None:
        large = asyncio.ensure_future(client.call_tool("echo", {"text": "x" * 3_000_000}))
        await asyncio.gather(*(echo(client, str(number)) for number in range(50)))
        assert len((await large).text) == 3_000_000

    with_client(work)
