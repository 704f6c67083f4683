"""Messages as lines: F-WIRE-3, F-WIRE-7 and F-STD-5."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcpclient.errors import MessageTooLarge
from mcpclient.jsonrpc import messages
from mcpclient.jsonrpc.codec import VerbatimObject
from mcpclient.jsonrpc.correlator import Correlator
from mcpclient.jsonrpc.messages import Message
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.connected import LineTransport
from tests.framing.chunkings import cuts, split
from tests.support.properties import examples
from tests.support.tables import each_row

from .receivers import RecordingReceiver

ANSWER = {"jsonrpc": "2.0", "id": 1, "result": {"text": "\u2028\u2029\u0085"}}
LINE = json.dumps(ANSWER, ensure_ascii=False).encode() + b"\n"


class Wire:
    """A connection over which a test brings the bytes."""

    paused = False
    aborted = False

    def __init__(self) -> None:
        self.writes: list[bytes | memoryview] = []

    def write(self, data: bytes | memoryview) -> None:
        self.writes.append(data)

    def abort(self) -> None:
        self.aborted = True

    def hold(self, *, is_held: bool) -> None:
        raise AssertionError("nothing is held here")


class Lines(LineTransport):
    """A transport of lines over a wire."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit, "peer")
        self.wire = Wire()

    async def _connect(self) -> Any:
        return self.wire

    async def _disconnect(self) -> None:
        raise AssertionError("nothing ends this connection")

    def end(self) -> None:
        self._end_lines()


async def lines(receiver: RecordingReceiver, limit: int = 1000) -> Lines:
    opened = Lines(limit)
    await opened.open(receiver)
    return opened


def read(pieces: list[bytes], limit: int = 1000) -> RecordingReceiver:
    receiver = RecordingReceiver()

    async def main() -> None:
        reader = await lines(receiver, limit)
        for piece in pieces:
            reader.data_received(piece)
        reader.end()

    asyncio.run(main())
    return receiver


@each_row(
    "dirt",
    [
        b"[INFO] starting up\n",
        b"{not json}\n",
        b"\xef\xbb\xbfhello\n",
        b'[DEBUG] sent {"jsonrpc":"2.0","result":{},"id":1}\n',
        b'{"jsonrpc":"2.0","method":"m","params":{"x":"\xff"},"id":1}\n',
        b"[1]\n",
        b"[]\n",
        b"[" * 100_000 + b"]" * 100_000 + b"\n",
    ],
)
def test_what_looks_like_a_message_and_is_none(dirt: bytes) -> None:
    """F-WIRE-3: rejected once, blamed on no call, and the next line is read."""
    receiver = read([dirt + LINE])
    assert receiver.messages == [ANSWER]
    assert [request_id for _, request_id in receiver.rejected] == [None]


@pytest.mark.parametrize("start", [b"", b'{"x":"', b"[[", b'{"method":"m","params":{"x":"'])
async def test_a_flood_without_a_line_end_is_told_once(start: bytes) -> None:
    """F-WIRE-3: it answers no call that is known, so none of them will ever be answered."""
    receiver = RecordingReceiver()
    reader = await lines(receiver)
    reader.data_received(start + b"y" * 3_000)
    assert not receiver.lost
    for _ in range(10):
        reader.data_received(b"y" * 1_000)
    assert [cast(MessageTooLarge, error).limit for error in receiver.lost] == [1000]
    await asyncio.sleep(0)
    assert reader.wire.aborted


def test_batches_and_a_last_line_without_its_end() -> None:
    """F-WIRE-1: several messages in an array (2025-03-26), and a server that ends in mid-line."""
    note = {"jsonrpc": "2.0", "method": "n"}
    batch = json.dumps([note, 5, ANSWER]).encode()
    receiver = read([batch])
    assert receiver.messages == [note, ANSWER]
    assert len(receiver.rejected) == 1


async def test_a_large_message_that_is_passed_on_is_not_copied() -> None:
    """F-BRIDGE-1: its text is written as it is, unless other messages come before it."""
    transport = await lines(RecordingReceiver())
    read_line = b'{"text": "%b"}' % (b"x" * 2**20)
    passed_on = VerbatimObject({}, memoryview(read_line))
    large = Outgoing(messages.request(2, "m", passed_on))
    whole = b'{"jsonrpc":"2.0","id":2,"method":"m","params":%b}\n' % read_line
    transport.send(large)
    assert b"".join(transport.wire.writes) == whole
    assert [isinstance(each, memoryview) for each in transport.wire.writes].count(True) == 1
    assert transport.wire.writes[1] is passed_on.text
    transport.wire.writes.clear()
    transport.send(Outgoing(messages.request(1, "m", None)))
    transport.send(large)
    await asyncio.sleep(0)
    first, second = transport.wire.writes
    assert json.loads(bytes(first))["id"] == 1
    assert second == whole


class Waiter:
    def __init__(self) -> None:
        self.outcome: Message | BaseException | None = None

    def done(self) -> bool:
        return self.outcome is not None

    def set_result(self, result: Message, /) -> None:
        self.outcome = result

    def set_exception(self, exception: BaseException, /) -> None:
        self.outcome = exception


ANSWERED = b'{"id":1,"result":{}}\n'
PROGRESS = b'{"method":"notifications/progress","params":{"progressToken":1}}\n'

fragments = st.sampled_from(
    [
        *b'{ } [ ] " \\ "id":1 "id":"1" , : NaN "method":"m" "\\ud800" \xff \xed\xa0\x80'.split(),
        *(ANSWERED, b'{"id":2,"error":{"code":1,"message":""}}\n', PROGRESS),
        *(b"\n", b"\r\n", b"\xef\xbb\xbf", b"x" * 60, b"9" * 60, b"[" * 60),
    ]
)


# Cut off below the length from which a line without an end is a flood, which ends the connection.
mixtures = st.lists(fragments | st.binary(max_size=8), max_size=30).map(
    lambda parts: b"".join(parts)[: 4 * len(PROGRESS)]
)


@given(mixtures, cuts)
@example(PROGRESS + ANSWERED + PROGRESS, [10, 70])
@example(b'{"id":1,"result":{\n', [])
@examples(100)
def test_any_bytes_are_messages_or_recorded_faults(data: bytes, places: list[int]) -> None:
    """F-WIRE-3, F-WIRE-7: nothing is raised, whatever comes, and however it was cut."""
    logging.getLogger("mcpclient.transport").disabled = True
    try:
        receiver = read(split(data, places), len(PROGRESS))
        whole = read([data], len(PROGRESS))
    finally:
        logging.getLogger("mcpclient.transport").disabled = False
    assert (receiver.lost, receiver.failed) == ([], [])
    assert repr(receiver.messages) == repr(whole.messages)
    assert repr(receiver.rejected) == repr(whole.rejected)
    correlator = Correlator()
    waiters = [Waiter(), Waiter()]
    for waiter in waiters:
        correlator.open("m", waiter, 0.0)
    for message in receiver.messages:
        correlator.settle(message)
        params = message.get("params")
        if isinstance(params, dict):
            correlator.progress(params, 1.0)
    for error, request_id in receiver.rejected:
        assert str(error)
        correlator.fail(request_id, error)
