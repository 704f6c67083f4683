"""Following an event stream over many GETs: the waits, the tries, and when to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Union

import pytest

from mcpclient.errors import ConnectFailed, ConnectionLost, HttpError, McpError
from mcpclient.framing.http1 import ResponseHead
from mcpclient.framing.uri import parse_url
from mcpclient.net.exchange import Exchange, ResponseSink
from mcpclient.transports.event_stream import EventStream, ServerStream
from tests.support.inbox import Inbox
from tests.support.virtual_time import run

pytestmark = pytest.mark.virtual_time

URL = parse_url("http://server.example/mcp")
EVENTS = {"content-type": "text/event-stream"}

Step = Union[bytes, float, McpError]
"""Bytes of the body, seconds of silence, or the failure of the connection."""

Script = tuple[int, dict[str, str], Iterable[Step]]
"""Status, headers, and what follows them."""


class FakeExchange:
    """The response to a GET; only its end is of interest."""

    def __init__(self, task: asyncio.Task[None]) -> None:
        self._task = task

    def abort(self) -> None:
        self._task.cancel()


class Server:
    """Answers one GET after another by a script: status (0: none), headers, then the steps."""

    def __init__(self, *scripts: Script) -> None:
        self._scripts = list(scripts)
        self.asked: list[tuple[float, str]] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def open_stream(self, last_event_id: str, sink: ResponseSink) -> Exchange:
        self.asked.append((asyncio.get_running_loop().time(), last_event_id))
        script = self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]
        task = asyncio.ensure_future(self._play(script, sink))
        self.tasks.append(task)
        return FakeExchange(task)  # type: ignore[return-value]

    async def _play(self, script: Script, sink: ResponseSink) -> None:
        status, headers, steps = script
        from_mapping: Any = headers
        if status:
            sink.head_received(ResponseHead(status, "", from_mapping, "1.1"))
        for step in steps:
            if isinstance(step, bytes):
                sink.body_received(step)
            elif isinstance(step, McpError):
                sink.response_failed(step)
                return
            else:
                await asyncio.sleep(step)
        sink.response_ended()


def event(text: str, **fields: Any) -> bytes:
    lines = [f"{name}: {value}" for name, value in fields.items()]
    return "\n".join([*lines, f"data: {text}", "", ""]).encode()


NOTE = '{"jsonrpc": "2.0", "method": "vendor/note"}'
ANSWER = '{"jsonrpc": "2.0", "id": 1, "result": {}}'


@pytest.fixture(autouse=True)
def _no_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.random", lambda: 0.0)


def follow(
    server: Server, *, request_id: int | None = None, liveness: float | None = None
) -> tuple[McpError | None, Inbox, float]:
    """Follow the channel to its end; return its outcome, what came, and when that was."""

    async def main() -> tuple[McpError | None, Inbox, float]:
        inbox = Inbox()
        stream = EventStream(inbox, 1000, request_id)
        follower = ServerStream(stream, URL, server.open_stream, liveness)
        error = await follower.follow()
        return error, inbox, asyncio.get_running_loop().time()

    return run(main())


def test_a_body_that_is_no_event_stream_is_a_refusal() -> None:
    """F-HTTP-4: one GET where no stream is offered."""
    server = Server((200, {"content-type": "text/html"}, [b"<html>" * 20_000, b"more"]))
    error, inbox, _ = follow(server)
    assert isinstance(error, HttpError)
    assert len(error.body) == 65536
    assert len(server.asked) == 1
    assert not inbox.messages and not inbox.rejected


def test_five_tries_without_progress_and_no_more() -> None:
    """F-HTTP-4: with exponential backoff."""
    server = Server((200, EVENTS, []))
    error, _, _ = follow(server)
    assert isinstance(error, ConnectionLost)
    assert [time for time, _ in server.asked] == [0, 1, 3, 7, 15, 31]
    unanswered = Server(UNANSWERED)
    assert follow(unanswered)[0] is REFUSED
    assert len(unanswered.asked) == 6


def test_silence_counts_as_death_only_when_asked_for() -> None:
    """F-HTTP-13: when a whole period has passed without a byte."""
    slow: Script = (200, EVENTS, [event(NOTE), 50.0, b": alive\n", 50.0, event(NOTE), 100.0])
    for liveness, last in ((None, 201), (60, 181)):
        server = Server(slow, (404, {}, []))
        follow(server, liveness=liveness)
        assert [time for time, _ in server.asked] == [0, last]


async def test_whether_a_connection_is_open_is_known() -> None:
    """F-HTTP-5: between two of them nothing can come."""
    server = Server((200, EVENTS, [11.0]), (200, EVENTS, [event(ANSWER)]))
    stream = ServerStream(EventStream(Inbox(), 1000, 1), URL, server.open_stream, None)
    following = asyncio.ensure_future(stream.resume())
    seen = []
    for _ in range(4):
        seen.append(stream.is_open)
        await asyncio.sleep(5.5)
    assert seen == [False, True, True, False]
    assert await following is None


@pytest.mark.parametrize("kind", ["text/event-stream", "Text/Event-Stream; charset=utf-8"])
@pytest.mark.parametrize("status", [200, 202, 405])
async def test_whether_it_is_offered_is_known_with_the_head(status: int, kind: str) -> None:
    """F-LIFE-4"""
    accepted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    server = Server((status, {"content-type": kind}, [10.0]))
    stream = ServerStream(EventStream(Inbox(), 1000), URL, server.open_stream, None)
    following = asyncio.ensure_future(stream.follow(accepted))
    assert await accepted is (status == 200)
    following.cancel()
    await asyncio.wait({following})


def test_the_answer_ends_it() -> None:
    """F-HTTP-5: without waiting for the end of the stream, whose connection is dropped."""
    server = Server((200, EVENTS, [event(NOTE), event(ANSWER), 1000.0]))
    error, inbox, time = follow(server, request_id=1)
    assert (error, time) == (None, 0)
    assert len(inbox.messages) == 2
    assert server.tasks[0].cancelled()


def test_events_that_a_resumed_stream_repeats_are_delivered_once() -> None:
    """F-HTTP-5, F-LIFE-7: however many there are."""
    notes = [event(NOTE, id=number) for number in range(100)]
    server = Server((200, EVENTS, notes), (200, EVENTS, [*notes, event(ANSWER), 1000.0]))
    error, inbox, _ = follow(server, request_id=1)
    assert error is None
    assert len(inbox.messages) == 101
    assert [asked for _, asked in server.asked] == ["", "99"]


REFUSED = ConnectFailed("server", "refused")
UNANSWERED: Script = (0, {}, [REFUSED])


def resume(server: Server, began: bytes) -> tuple[McpError | None, list[float]]:
    """Resume an answer that broke off; return the outcome, and when it was asked for and known."""

    async def main() -> tuple[McpError | None, list[float]]:
        stream = EventStream(Inbox(), 1000, 1)
        stream.feed(began)
        error = await ServerStream(stream, URL, server.open_stream, None).resume()
        return error, [*(time for time, _ in server.asked), asyncio.get_running_loop().time()]

    return run(main())


def test_a_server_that_wants_to_be_left_alone_is_even_when_it_seems_gone() -> None:
    """F-LIFE-7: resumed streams, each event once."""
    error, times = resume(Server(UNANSWERED), event(NOTE, id="a", retry=3000))
    assert error is REFUSED
    assert times == [3, 6, 6]


def test_a_refusal_that_never_ends_is_cut() -> None:
    """F-HTTP-4, F-HTTP-7: what it says in 64 KiB is all that is kept, and read."""
    server = Server((405, {}, [b"x" * 60_000, b"y" * 10_000, 1e6]))
    error, _, time = follow(server)
    assert isinstance(error, HttpError)
    assert (error.body, time) == (b"x" * 60_000 + b"y" * 5536, 0)
    assert server.tasks[0].cancelled()
