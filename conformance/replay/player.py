"""The server's side of a transcript, played to a client that does the other side.

Order is causal: what the server said is played as soon as all that the reference client had done
before has been done. What the client does has to be one of the recorded messages, those that belong
together by their key are compared, and it has to come in the recorded order, but for what
`equivalences.ORDER` leaves free.
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from conformance.scripts import MCPCLIENT
from mcpclient.recording.transcript import Record, Transcript

from .chunkings import Chunking
from .comparing import Comparison, described, header, ids_in, key_of
from .differences import Known
from .equivalences import RECEIPTS, is_free_order
from .idle_clock import is_unhurried
from .names import Names
from .recorded import is_paced

__all__ = ["Channel", "Line", "Player"]


_PAYLOADS = {"message", "text", "base64"}
_LAST_EVENT_ID, _RETRY_AFTER = "last-event-id", "retry-after"

# Seconds by which a timer may be early: what the clock of event loops counts in, on Windows 0.016.
_CLOCK_STEP = time.get_clock_info("monotonic").resolution

# The machine that recorded a session was busy for a part of the time that it shows, so that a wait
# of its client begins to count here, in seconds; waits may be random, too, by less than these.
_NOTICED = 0.5
_LEAST_SHARE, _MOST_SHARE, _MARGIN = 0.7, 1.3, 0.5


class Channel(Protocol):
    """The target of a server's records: one stream of bytes to the client."""

    def encode(self, record: Record, names: Names) -> bytes:
        """Return the bytes that stand for a record, with the client's names in them."""

    def write(self, data: bytes) -> None:
        """Send bytes at once."""

    def finish(self, record: Record) -> None:
        """Finish a record: close the channels that it ends."""


@dataclass
class Line:
    """One record of a transcript at play."""

    number: int
    record: Record
    begun: bool = False
    done: bool = False
    may_miss: bool = False
    """Whether a known difference says that this client need not do it."""
    is_past: bool = False
    """Whether it went on without it."""

    @functools.cached_property
    def is_server(self) -> bool:
        """Whether it is for the player to do."""
        return bool(self.record["direction"] == "received")

    @functools.cached_property
    def is_remark(self) -> bool:
        """Whether it is a note about an outcome, and not about an act of the user."""
        has_act = self.record.keys() & {"connected", "outcome", "visited"}
        return self.record["direction"] == "note" and not has_act

    @functools.cached_property
    def key(self) -> tuple[Any, ...]:
        """The key of its record, equal for all records about one thing."""
        return key_of(self.record)

    def __str__(self) -> str:
        return f"record {self.number} ({described(self.record)})"


class Player:
    """One meeting of one client with one transcript.

    ``findings``: what was not as recorded. ``checks``: how many things were compared. ``happened``:
    how many records and pieces of records have. ``sent``: the messages of the client.
    """

    def __init__(
        self, transcript: Transcript, chunking: Chunking, names: Names, known: Known
    ) -> None:
        self.names = names
        self.findings: list[str] = []
        self.sent: list[Any] = []
        self.checks = 0
        self.happened = 0
        self.lines = list(_lines(transcript))
        self._openings: dict[str, Line] = {}
        self._received: dict[str, list[Record]] = {}
        for line in self.lines:
            self._openings.setdefault(line.record["channel"], line)
            if line.is_server:
                self._received.setdefault(line.record["channel"], []).append(line.record)
        self._channels: dict[str, Channel] = {}
        self._known = known
        self._chunking = chunking
        self._changed = asyncio.Event()
        self._progress: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ids: dict[Any, str] = {}
        self._ended: dict[str, float] = {}
        self._is_given_up = False
        self._is_paced = is_paced(transcript)
        script = transcript.header["script"]
        waits_for_program = "headers_printed" in script.get("client", {}).get("options", {})
        self._is_own = script.get("driver") == MCPCLIENT
        self._keeps_time = self._is_own and not waits_for_program and is_unhurried()
        self._latest = asyncio.get_running_loop().time()
        self._waits_for_busy = script.get("client", {}).get("retry_busy")
        for line in self.lines:
            if line.record["direction"] == "sent":
                line.may_miss = known.find(self._missing(line)) is not None

    def found(self, text: str) -> None:
        """Record something that is not as recorded, unless that is a known difference."""
        if not self._known.explains(text):
            self.findings.append(text)

    def check(self, holds: bool, text: str) -> None:
        """Count a check, and record its failure."""
        self.checks += 1
        if not holds:
            self.found(text)

    def open(self, name: str, channel: Channel) -> None:
        """Play, from now on, the records received on a channel."""
        self._channels[name] = channel
        self._changed.set()

    def received_on(self, channel: str) -> list[Record]:
        """Return the records of the server on a channel."""
        return self._received.get(channel, [])

    # What the client does

    def took(self, record: Record) -> Line | None:
        """Compare the client's act with the recorded one; None when it never was."""
        self.sent += [record["message"]] if "message" in record else []
        self.checks += 1 + ("http" in record and "message" in record)
        key = key_of(record)
        about = [line for line in self._open_lines() if line.key == key and not line.is_past]
        tried = [(line, self.comparison().record(line.record, record)) for line in about]
        self._check_ids(record)
        if not tried:
            self.found(f"never recorded: {described(record)}")
            return None
        # Of several that it may be, one whose turn has come, and of those the most alike.
        line, comparison = min(
            tried, key=lambda one: (self._unheard(one[0]) is not None, len(one[1].found))
        )
        self.names = comparison.names
        for text in comparison.found:
            self.found(f"{described(line.record)}: {text}")
        unheard = self._unheard(line)
        if unheard is not None:
            self.found(f"too early: {described(line.record)} came before {unheard} was received")
        self._check_order(line)
        self._check_wait(line)
        self._check_delay(record)
        self._ids.update((id, line.record["channel"]) for id in ids_in(record))
        self._do(line)
        return line

    def _unheard(self, line: Line) -> Line | None:
        """Return the messages that the recorded client had received by now, and ours has not."""
        for one in self._before(line):
            if not one.is_server or one.begun or _is_receipt(one.record):
                continue
            if not self._opening(one).may_miss:
                return one
        return None

    def _check_order(self, line: Line) -> None:
        """Compare the order of the client's own messages with the recorded one."""
        self.checks += 1
        for one in self._open_lines():
            if one.number >= line.number or one.may_miss or one.is_past:
                continue
            if not is_free_order(described(one.record), described(line.record)):
                self.found(f"order: {described(line.record)} came before {described(one.record)}")

    def _check_wait(self, line: Line) -> None:
        """See that this library, where it was the client, waits of itself as long as recorded."""
        if not self._keeps_time or line.number == 1 or "end" in line.record:
            return
        before = next(one for one in self.lines if one.number == line.number - 1)
        recorded = line.record["time"] - before.record["time"]
        waited = asyncio.get_running_loop().time() - self._latest
        least = _LEAST_SHARE * recorded if recorded > _NOTICED else 0.0
        most = _MOST_SHARE * recorded + _MARGIN
        self.check(
            least <= waited <= most,
            f"{described(line.record)} came after {waited:.2f} s, recorded were {recorded:.2f}",
        )

    def _check_delay(self, record: Record) -> None:
        """See that a client which resumes a stream has waited as long as the stream told it to."""
        headers = record.get("http", {}).get("headers", [])
        last_id = header(headers, _LAST_EVENT_ID) or None
        for channel, ended in self._ended.items():
            events = [one.get("event", {}) for one in self.received_on(channel)]
            # Strings are not numbers, and mean nothing.
            delays = [event["retry"] for event in events if isinstance(event.get("retry"), int)]
            is_resumed = last_id is not None and last_id in [event.get("id") for event in events]
            if delays and is_resumed:
                waited = (asyncio.get_running_loop().time() - ended) * 1000
                self.check(
                    waited >= delays[-1] - _CLOCK_STEP * 1000,
                    f"too soon: {described(record)} came {waited:.0f} ms after the stream had "
                    f"ended, which said retry: {delays[-1]}",
                )
        if self._waits_for_busy:
            self._check_patience(record)

    def _check_patience(self, record: Record) -> None:
        """See that a request which a busy server has refused does not come again too soon."""
        for channel, ended in self._ended.items():
            heads = [one["http"] for one in self.received_on(channel) if "http" in one]
            after = [header(head["headers"], _RETRY_AFTER) for head in heads]
            refused = self._openings[channel]
            if after[:1] and after[0].isdigit() and refused.key == key_of(record):
                waited = asyncio.get_running_loop().time() - ended
                self.check(
                    waited >= float(after[0]) - _CLOCK_STEP,
                    f"too soon: {described(record)} came {waited:.1f} s after it was refused with "
                    f"Retry-After: {after[0]}",
                )

    def _open_lines(self) -> Iterator[Line]:
        return (line for line in self.lines if line.record["direction"] == "sent" and not line.done)

    def _check_ids(self, record: Record) -> None:
        for id in ids_in(record):
            channel = self._ids.get(id)
            if channel is not None and not self._was_refused(channel):
                self.found(f"id {id!r} was used before: {described(record)}")

    def forget_ids(self) -> None:
        """Let ids be used again: in another session they are of other requests."""
        self._ids.clear()

    def _was_refused(self, channel: str) -> bool:
        """Whether HTTP refused, redirected or dropped a request, so that it is sent again."""
        records = self.received_on(channel)
        heads = (record.get("http", {}) for record in records)
        is_dropped = [record.get("end") for record in records] == ["cut off"]
        return is_dropped or any(head.get("status", 0) >= 300 for head in heads)

    def told(self, member: str, **facts: Any) -> Record | None:
        """Record that the user has come to a point of the script; return its recorded note."""
        for line in self.lines:
            record = line.record
            if not line.done and _is_note(record, member) and facts.items() <= record.items():
                self._do(line)
                return record
        return None

    def comparison(self) -> Comparison:
        """Return a comparison that begins with the names known by now."""
        return Comparison(self.names, is_own=self._is_own)

    def compare(self, what: str, comparison: Comparison) -> None:
        """Adopt a comparison of the user's results."""
        self.checks += 1
        self.names = comparison.names
        for text in comparison.found:
            self.found(f"{what}: {text}")

    def _do(self, line: Line) -> None:
        line.done = True
        self.happened += 1
        self._latest = asyncio.get_running_loop().time()
        self._changed.set()
        progress, self._progress = self._progress, self._progress.get_loop().create_future()
        progress.set_result(None)

    # What the server does

    async def play(self) -> None:
        """Play until everything has been played."""
        while any(line.is_server and not line.done for line in self.lines):
            self._changed.clear()
            ready = self._ready_lines()
            if not ready:
                await self._changed.wait()
            while ready:
                first = ready[0].record["channel"]
                count = next(
                    (at for at, line in enumerate(ready) if line.record["channel"] != first),
                    len(ready),
                )
                if self._is_paced:
                    count = 1
                    await self._keep_pace(ready[0])
                await self._play_on(first, ready[:count])
                del ready[:count]

    async def _keep_pace(self, line: Line) -> None:
        """Wait as long as the server did between the record before and this one.

        How long it took to start shows nothing.
        """
        before = [one.record for one in self.lines if one.number < line.number]
        if any(_is_note(record, "begins") for record in before):
            await asyncio.sleep(line.record["time"] - before[-1]["time"])

    def _ready_lines(self) -> list[Line]:
        """Return what can be played now, in order."""
        ready: list[Line] = []
        waits = False
        for line in self.lines:
            if not line.is_server:
                waits = waits or not (line.done or line.may_miss or line.is_remark)
            elif not line.done and (not waits or _is_unconditional(line.record)):
                if line.record["channel"] in self._channels:
                    ready.append(line)
                else:
                    self._skip_unless_awaited(line)
        return ready

    def _skip_unless_awaited(self, line: Line) -> None:
        """Leave out the response to a request that this client need not send, and did not."""
        opening = self._opening(line)
        if opening.may_miss and (self._is_given_up or self._went_on_after(opening)):
            opening.is_past = line.begun = True
            self._do(line)

    def _went_on_after(self, line: Line) -> bool:
        return any(one.done and not one.is_server for one in self.lines if one.number > line.number)

    def _opening(self, line: Line) -> Line:
        """Return what opened the channel of a line."""
        return self._openings[line.record["channel"]]

    async def _play_on(self, name: str, lines: list[Line]) -> None:
        channel = self._channels[name]
        pieces = [channel.encode(line.record, self.names) for line in lines]
        for line in lines:
            line.begun = True
        loop = asyncio.get_running_loop()
        written, two_turns = loop.time(), _TwoTurns()
        for block in self._chunking.blocks(pieces):
            written = loop.time()
            channel.write(block)
            self.happened += 1  # byte by byte, one line can take a busy machine its time
            await two_turns
        for line in lines:
            channel.finish(line.record)
            if "end" in line.record:
                self._ended[name] = written
            self._do(line)

    # Where it stands

    async def reached(self, note: Record) -> None:
        """Wait until everything that was recorded before a note has happened."""
        await self._all_done_before(next(line for line in self.lines if line.record is note))

    def give_up(self) -> None:
        """Record that the user does no step of the script, since the client did not connect."""
        self._is_given_up = True
        for line in self.lines:
            line.done = line.done or _is_note(line.record, "step")
        self._changed.set()

    async def finished_script(self) -> None:
        """Wait until everything has happened up to where the recorded client began to close."""
        outcomes = [line.number for line in self.lines if _is_note(line.record, "outcome")]
        last = outcomes[-1] if outcomes else 0
        closing = (line for line in self.lines if line.number > last and not line.is_server)
        end = Line(len(self.lines) + 1, {"direction": "note"})
        await self._all_done_before(next(closing, end))

    async def _all_done_before(self, end: Line) -> None:
        while any(not (line.done or line.may_miss) for line in self._before(end)):
            await asyncio.shield(self._progress)

    def _before(self, line: Line) -> list[Line]:
        return [one for one in self.lines if one.number < line.number and not one.is_remark]

    def is_over(self, channel: str) -> bool:
        """Whether nothing was recorded on a channel that has not happened or begun.

        When the client has ended the session, either side may be the first to close a stream.
        """
        has_left = any(line.done and _is_end_of_session(line.record) for line in self.lines)
        return all(
            line.begun or line.done or (has_left and line.is_server and line.record.get("end"))
            for line in self.lines
            if line.record["channel"] == channel
        )

    def status_for_extra(self, request: Record) -> int:
        """Return the status that answers a request which was never recorded."""
        known = self._known.find(f"never recorded: {described(request)}")
        return known.answer if known is not None else 500

    def waits_for(self) -> str:
        """Name the next thing that has not happened."""
        for line in self.lines:
            if not line.done and not line.may_miss and not line.is_remark:
                if line.is_server:
                    return f"{line} of the server was not played"
                if line.record["direction"] == "note":
                    return "everything up to here was as recorded"
                return f"{line} never came from the client"
        return "nothing is missing"

    def finish(self) -> None:
        """Record what never happened, known differences included."""
        for line in self._open_lines():
            self.check(False, self._missing(line))
        for difference in self._known.unmet():
            self.findings.append(f"a known difference did not occur: {difference}")

    def _missing(self, line: Line) -> str:
        before = (one for one in self.lines if one.number < line.number)
        again = any(one.record["direction"] == "sent" and one.key == line.key for one in before)
        return f"never sent{' again' if again else ''}: {described(line.record)}"


class _TwoTurns:
    """One turn of the loop for the client to be told of bytes, and one to take them."""

    def __await__(self) -> Generator[None, None, None]:
        yield
        yield


def _is_end_of_session(record: Record) -> bool:
    return bool(record.get("http", {}).get("method") == "DELETE")


def _is_receipt(record: Record) -> bool:
    """Whether it says of a message that it was taken, or where, and no more."""
    return record.get("http", {}).get("status") in RECEIPTS


def _is_unconditional(record: Record) -> bool:
    """Whether nothing but its own request can be a condition for it: a receipt, or the head of a
    stream (or that there is none).
    """
    is_head = record.get("http", {}).get("status") in (200, 405)
    return _is_receipt(record) or (is_head and not record.keys() & _PAYLOADS)


def _lines(transcript: Transcript) -> Iterator[Line]:
    """Yield the records to play: no output that clients reject as messages, and no second end."""
    ended: set[str] = set()
    for number, record in enumerate(transcript.records, 1):
        channel = record["channel"]
        if channel != "stderr" and (channel not in ended or "end" not in record):
            yield Line(number, record)
        if "end" in record and record["direction"] == "received":
            ended.add(channel)


def _is_note(record: Record, member: str) -> bool:
    return record["direction"] == "note" and member in record
