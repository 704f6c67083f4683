"""The acts of a client while a server does one thing wrong, and their outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Callable

import pytest

from mcpclient import Client
from mcpclient.errors import McpError
from mcpclient.protocol.listen import EventsMissed, ToolsChanged
from tests.faults.faulty_peers.faults import LIMIT, reorder
from tests.faults.faulty_peers.peer import Peer

TIMEOUT = 20.0
"""The limit of calls, and of connecting, in virtual seconds."""

VERSIONS = {"handshake": "2025-11-25", "stateless": "2026-07-28"}

# How long the user thinks about a question, in virtual seconds.
_THINKING = 0.01
# How long a change is waited for: longer than any backoff.
_PATIENCE = 300.0


@dataclass
class Outcome:
    """The outcome. ``error``: the exception of the call, or the error reported where there is none.

    ``seconds``: how long it took, in virtual time. ``connected``: whether the connection lived on.
    """

    error: McpError | None = None
    seconds: float = 0.0
    connected: bool = False
    asked: int = 0
    reported: list[McpError] = field(default_factory=list)
    beside: McpError | None = None
    missed: bool = False
    silent: bool = False


async def play(peer: Peer, step: str, era: str) -> Outcome:
    """Connect to ``peer``, go through ``step`` with it, and go on afterwards, with or without it.

    Raises whatever is no `McpError`, and `AssertionError` when the client is not as good as new.
    """
    stage = _Stage(peer, step, era)
    try:
        if step not in ("connect", "open", "initialized", "probe"):
            await stage.client.connect()
        await stage.watch(_PLAYS[step](stage))
        await stage.go_on()
    finally:
        await stage.client.close()
    return stage.outcome


class _Stage:
    """A client, and the observations of it."""

    def __init__(self, peer: Peer, step: str, era: str) -> None:
        self.peer = peer
        self.era = era
        self.outcome = Outcome()
        self.client = Client(
            peer.target,
            timeout=TIMEOUT,
            protocol_version=None if step == "probe" else VERSIONS[era],
            max_message_size=LIMIT,
            liveness=60,
            elicitation=self._ask_user,
            on_error=self._report,
            **peer.options,
        )

    def _report(self, error: McpError) -> None:
        # A client reads the signature of a callback. For the method of a list, Python parses it
        # anew each time, which takes a twentieth of a cell.
        self.outcome.reported.append(error)

    async def _ask_user(self, request: Any) -> dict[str, str]:
        self.outcome.asked += 1
        await asyncio.sleep(_THINKING)
        return {"size": "M"}

    async def watch(self, work: Awaitable[Any]) -> None:
        """Run the step that the fault strikes, and note its outcome."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            await work
        except McpError as error:
            self.outcome.error = error
        self.outcome.seconds = loop.time() - began
        if self.peer.script.step in ("initialized", "notify", "answer"):
            await asyncio.sleep(1)  # for what comes of it
        self.outcome.connected = self.client.is_connected

    async def go_on(self) -> None:
        """Make a call, after connecting anew if need be."""
        if self.peer.script.step == "close":
            assert not self.client.is_connected
        assert self.peer.script.struck, "the fault has not struck"
        await self.client.connect()
        assert self.client.protocol_version == VERSIONS[self.era]
        result = await self.client.call_tool("echo", {"text": "and on"})
        assert result.text == "and on"

    async def connect(self) -> None:
        await self.client.connect()

    async def request(self) -> None:
        """Make a call while another waits; two when their answers are to be swapped.

        Over HTTP they go over connections that were used before, and may have gone stale.
        """
        await asyncio.gather(*(self.client.call_tool("echo", {"text": "x"}) for _ in range(3)))
        beside = asyncio.ensure_future(self.client.call_tool("hold", {"text": "beside"}))
        await asyncio.sleep(0)
        texts = ["one", "two"] if self.peer.script.fault is reorder else ["one"]
        calls = [self._call("echo", text=text) for text in texts]
        try:
            results = await asyncio.gather(*calls)
            assert [result.text for result in results] == texts
        finally:
            await self._end_beside(beside)

    async def _end_beside(self, beside: asyncio.Future[Any]) -> None:
        if self.client.is_connected:
            await self.client.call_tool("release")
            assert (await beside).text == "beside"
        else:
            self.outcome.beside = await _error_of(beside)

    def _call(self, tool: str, **arguments: Any) -> Coroutine[Any, Any, Any]:
        return self.client.call_tool(tool, {**arguments, "fault": True})

    async def stream(self) -> None:
        steps: list[float] = []
        arguments = {"steps": 2, "fault": True}
        try:
            result = await self.client.call_tool(
                "progress", arguments, on_progress=lambda news: steps.append(news.progress)
            )
            assert result.text == "done"
        finally:
            assert steps[:1] == [1]
            assert set(steps) <= {1, 2}

    async def ask(self) -> None:
        assert (await self._call("echo", text="answered")).text == "answered"

    async def notify(self) -> None:
        await self.client.notify("vendor/note")

    async def listen(self) -> None:
        """Wait for news, after a change of which the server is to tell."""

        async def news() -> None:
            async for event in subscription:
                if isinstance(event, (ToolsChanged, EventsMissed)):
                    self.outcome.missed = isinstance(event, EventsMissed)
                    return

        async with self.client.listen(tools=True) as subscription:
            await self.client.notify("vendor/change")
            try:
                await asyncio.wait_for(news(), _PATIENCE)
            except asyncio.TimeoutError:
                self.outcome.silent = True

    async def close(self) -> None:
        waiting = asyncio.ensure_future(self.client.call_tool("never"))
        await asyncio.sleep(0)
        await self.client.close()
        self.outcome.beside = await _error_of(waiting)


async def _error_of(call: asyncio.Future[Any]) -> McpError:
    with pytest.raises(McpError) as caught:
        await call
    return caught.value


_PLAYS: dict[str, Callable[[_Stage], Awaitable[None]]] = {
    "connect": _Stage.connect,
    "open": _Stage.connect,
    "probe": _Stage.connect,
    "initialized": _Stage.connect,
    "request": _Stage.request,
    "stream": _Stage.stream,
    "ask": _Stage.ask,
    "answer": _Stage.ask,
    "notify": _Stage.notify,
    "listen": _Stage.listen,
    "close": _Stage.close,
}
