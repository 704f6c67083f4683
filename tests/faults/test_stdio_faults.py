"""Server processes that end, linger and fall silent in ways of their own.

What every transport has in common is in the matrix; here is what only a process can do wrong.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Callable

import pytest

from mcpclient import CallToolResult, Client
from mcpclient.errors import CallTimeout, PeerError, ProcessExited, ProtocolViolation
from tests.faults.faulty_peers.script import Script
from tests.faults.faulty_peers.stdio import ProcessWire, StdioPeer
from tests.faults.faulty_peers.wire import Wire
from tests.support.clients import spawn
from tests.support.mcp_server import Json

pytestmark = pytest.mark.virtual_time

VERSION = "2025-11-25"
# A bound on what takes milliseconds; it only has to be less than any timeout of a call.
SOON = 10.0


async def echo(client: Client, text: str = "x") -> None:
    assert (await client.call_tool("echo", {"text": text})).text == text


class Adversary(Script):
    """A server that answers the tool ``odd`` as it pleases."""

    def __init__(self, act: Callable[[ProcessWire, Json], None]) -> None:
        super().__init__("handshake", "never", "stall")
        self._act = act

    def receive(self, message: Json, wire: Wire) -> None:
        """Receive a message of the client's."""
        assert isinstance(wire, ProcessWire)
        if (message.get("params") or {}).get("name") == "odd":
            self._act(wire, message)
        else:
            super().receive(message, wire)


@asynccontextmanager
async def facing(act: Callable[[ProcessWire, Json], None], folder: Path) -> AsyncIterator[Client]:
    """Connect to a server process whose streams are read and written here, in no time."""
    async with StdioPeer(Adversary(act), folder) as peer:
        client = await Client(
            peer.target,
            protocol_version=VERSION,
            timeout=20,
            max_message_size=100_000,
            **peer.options,
        )
        try:
            yield client
            await client.connect()
            await echo(client)
        finally:
            await client.close()


def result_of(message: Json) -> Json:
    content = [{"type": "text", "text": "hello"}]
    return {"jsonrpc": "2.0", "id": message["id"], "result": {"content": content}}


@pytest.mark.needs_posix
@pytest.mark.parametrize("code", [0, 1])
async def test_a_server_that_answers_and_exits(workplace: Path, code: int) -> None:
    """F-LIFE-7: the answer counts; the next call learns of the end, or finds a new server."""

    def act(wire: ProcessWire, message: Json) -> None:
        wire.send(result_of(message))
        wire.exit(code)

    async with facing(act, workplace) as client:
        assert (await client.call_tool("odd")).text == "hello"
        await asyncio.sleep(1)
        assert not client.is_connected
        with pytest.raises(ProcessExited) as caught:
            await client.call_tool("echo", {"text": "x"})
        assert caught.value.exit_code == code


@pytest.mark.needs_posix
async def test_a_last_line_without_its_end_counts(workplace: Path) -> None:
    """F-WIRE-3"""

    def act(wire: ProcessWire, message: Json) -> None:
        wire.raw(b"a last word")
        wire.write(str(result_of(message)).replace("'", '"').encode())
        wire.exit(0)

    async with facing(act, workplace) as client:
        assert (await client.call_tool("odd")).text == "hello"
        await asyncio.sleep(1)


@pytest.mark.needs_posix
async def test_a_server_that_leaves_a_child_with_its_output(workplace: Path) -> None:
    """F-LIFE-7, F-STD-2: the end is reported although the output stays open."""

    def act(wire: ProcessWire, message: Json) -> None:
        wire.exit(5, keep=True)

    async with facing(act, workplace) as client:
        with pytest.raises(ProcessExited) as caught:
            await client.call_tool("odd")
        assert caught.value.exit_code == 5
        assert asyncio.get_running_loop().time() <= 1


@pytest.mark.needs_posix
async def test_a_server_that_closes_its_output_and_lives_on(workplace: Path) -> None:
    """F-LIFE-7, F-LIFE-6: it cannot be heard any more, so it counts as lost, and is stopped."""
    async with facing(lambda wire, message: wire.close_output(), workplace) as client:
        with pytest.raises(ProcessExited) as caught:
            await client.call_tool("odd")
        assert caught.value.exit_code is None
        assert "closed its output" in str(caught.value)
        assert asyncio.get_running_loop().time() <= 1


@pytest.mark.needs_posix
async def test_a_server_that_closes_its_input_and_lives_on(workplace: Path) -> None:
    """F-LIFE-7: it cannot be told anything any more, which the next call notices."""

    def act(wire: ProcessWire, message: Json) -> None:
        wire.close_input()
        wire.send(result_of(message))

    async with facing(act, workplace) as client:
        assert (await client.call_tool("odd")).text == "hello"
        began = asyncio.get_running_loop().time()
        with pytest.raises(ProcessExited):
            await client.call_tool("echo", {"text": "x"})
        assert asyncio.get_running_loop().time() - began <= 1
        assert not client.is_connected


@pytest.mark.needs_posix
async def test_half_a_line_and_then_nothing(workplace: Path) -> None:
    """F-WIRE-3, F-API-7: it costs its call the limit, and spoils at most the line it is part of."""

    def act(wire: ProcessWire, message: Json) -> None:
        wire.write(b'{"jsonrpc": "2.0", "id": %d, "resu' % message["id"])

    async with facing(act, workplace) as client:
        with pytest.raises(CallTimeout):
            await client.call_tool("odd", timeout=2)
        with pytest.raises(CallTimeout):  # its answer is the rest of that line
            await client.call_tool("echo", {"text": "x"}, timeout=2)
        await echo(client)


@pytest.mark.real_time
async def test_a_server_that_dies_of_a_call_says_why() -> None:
    """F-LIFE-7: the end of a long stderr, and the exit code."""
    async with spawn(protocol_version=VERSION) as client:
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


RUBBISH = {
    "bom": b"\xef\xbb\xbf",
    "nested": b"[" * 100_000 + b"\n",
    "NaN as result": b'{"jsonrpc": "2.0", "id": {id}, "result": NaN}\n',
    "infinite code": b'{"id": {id}, "error": {"code": Infinity, "message": []}}\n',
    "content that is no list": b'{"id": {id}, "result": {"content": "no list"}}\n',
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


@pytest.mark.quick_rows(3)
@pytest.mark.real_time
@pytest.mark.parametrize("rubbish", list(RUBBISH.values()), ids=list(RUBBISH))
async def test_rubbish_fails_at_most_the_call_it_answers(rubbish: bytes) -> None:
    """F-WIRE-3, F-WIRE-7: the answer that follows is late or counts."""
    async with spawn(protocol_version=VERSION) as client:
        beside = asyncio.ensure_future(client.call_tool("hold", {"text": "beside"}))
        calling = client.call_tool("raw", {"hex": rubbish.hex(), "answers": True}, timeout=SOON)
        (outcome,) = await asyncio.gather(calling, return_exceptions=True)
        assert isinstance(outcome, (CallToolResult, PeerError, ProtocolViolation))
        await client.call_tool("release")
        assert (await beside).text == "beside"
        await echo(client)


@pytest.mark.real_time
async def test_a_batch_is_taken_apart() -> None:
    """F-WIRE-1: revision 2025-03-26 allows it on every transport."""
    async with spawn(protocol_version=VERSION) as client:
        batch = b'[{"method": "vendor/x"}, {"jsonrpc": "2.0", "id": {id}, "result": {}}]\n'
        assert (await client.call_tool("raw", {"hex": batch.hex()})).raw == {}


@pytest.mark.real_time
async def test_a_server_that_never_reads_costs_only_its_own_calls() -> None:
    """F-STD-5, F-LIFE-6: they time out, and closing is bounded."""
    began = time.monotonic()
    async with spawn(protocol_version=VERSION) as client:
        deaf = asyncio.ensure_future(client.call_tool("deaf", timeout=0.2))
        calls = [
            asyncio.ensure_future(client.call_tool("echo", {"text": "x" * 100_000}, timeout=0.2))
            for _ in range(20)
        ]
        errors = await asyncio.gather(deaf, *calls, return_exceptions=True)
        assert all(isinstance(error, CallTimeout) for error in errors)
        assert client.is_connected
    assert time.monotonic() - began < SOON


@pytest.mark.real_time
async def test_a_large_answer_and_small_ones_beside_it() -> None:
    """Pain 19, F-LIFE-9"""
    async with spawn(protocol_version=VERSION) as client:
        large = asyncio.ensure_future(client.call_tool("echo", {"text": "x" * 3_000_000}))
        await asyncio.gather(*(echo(client, str(number)) for number in range(50)))
        assert len((await large).text) == 3_000_000
