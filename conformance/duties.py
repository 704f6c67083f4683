"""Duties of a client that need two connections, processes or callers, met live.

No recorded session can show them, since it has one of each. What the library sent is read from the
transcripts of its connections. `COVERAGE.md` names these meetings.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import Awaitable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Callable, NamedTuple

import mcpclient
from conformance import peers, traces
from conformance.results import FAILED, NOT_RUN, PASSED, TRANSPORT_OF, Row
from conformance.workspace import listening
from mcpclient.protocol.negotiation import LATEST_HANDSHAKE, LATEST_STATELESS
from mcpclient.recording.transcript import read_transcripts

# Real seconds for one meeting.
LIMIT = 120

# Writes its process id to a file, and becomes the server.
_NAMED = (
    "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid())); "
    "os.execv(sys.argv[2], sys.argv[2:])"
)


class Place(NamedTuple):
    """A server, a folder to work in, and the file with the transcripts of the connections."""

    target: Any
    folder: Path
    trace: str

    def sent(self) -> list[list[str]]:
        """Return the methods of the messages that were sent, by connection."""
        with open(self.trace, encoding="utf-8") as lines:
            return [
                [
                    record["message"]["method"]
                    for record in transcript.records
                    if record["direction"] == "sent" and "method" in record.get("message", {})
                ]
                for transcript in read_transcripts(lines)
            ]

    def manager(self, *names: str, **options: Any) -> mcpclient.Manager:
        """Return a manager of this server under each of the names."""
        servers = dict.fromkeys(names, self.target)
        return mcpclient.connect_all(servers, trace=self.trace, stderr="discard", **options)


def run() -> Iterator[Row]:
    """Show each duty, and yield a row for it."""
    for name, (server, revision, show, *variant) in DUTIES.items():
        transport = TRANSPORT_OF[peers.SERVERS[server].transport]
        row = partial(Row, "live", f"duty: {name}", revision=revision, transport=transport)
        command = peers.command(server)
        if command is None:
            yield row(NOT_RUN, peers.why_not(peers.SERVERS[server].environment))
            continue
        try:
            with ExitStack() as stack:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                target: Any = [*command, *variant]
                if peers.SERVERS[server].transport == "http":
                    target = f"http://127.0.0.1:{stack.enter_context(listening(target, {}))}/mcp"
                place = Place(target, folder, traces.new("live") or str(folder / "trace.jsonl"))
                asyncio.run(asyncio.wait_for(show(place), LIMIT))
        except Exception as error:
            yield row(FAILED, f"{type(error).__name__}: {error}", checks=1)
        else:
            yield row(PASSED, f"as {server} sees it", checks=1, held=1)


def _expect(actual: object, expected: object) -> None:
    if actual != expected:
        raise AssertionError(f"{actual!r} where {expected!r} is expected")


async def _remembers_the_era(place: Place) -> None:
    """F-LIFE-3: the second connection to an origin does not repeat the first one's probe."""
    for _ in range(2):
        async with mcpclient.connect(place.target, trace=place.trace) as client:
            await client.list_tools()
    rest = ["initialize", "notifications/initialized", "tools/list"]
    _expect(place.sent(), [["server/discover", *rest], rest])


async def _starts_it_again(place: Place) -> None:
    """F-MANY-5, F-API-14: a server that is killed starts again, and is listened to again."""
    file = place.folder / "pid"
    command = [sys.executable, "-c", _NAMED, str(file), *place.target]
    async with place._replace(target=command).manager("server") as manager:
        before = await manager.call_tool("server__echo", {"text": "hello"})
        while "subscriptions/listen" not in place.sent()[0]:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        os.kill(int(file.read_text("utf-8")), signal.SIGKILL)
        while len(place.sent()) < 2 or "subscriptions/listen" not in place.sent()[1]:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        after = await manager.call_tool("server__echo", {"text": "hello"})
    _expect(after.raw, before.raw)


async def _keeps_private_results_apart(place: Place) -> None:
    """F-API-15: a fresh private result serves its own caller, with a login or without."""
    async with mcpclient.connect(place.target, trace=place.trace) as client:
        for caller in ({}, {"Authorization": "Bearer one"}, {"Authorization": "Bearer two"}, {}):
            for _ in range(2):
                await client.list_tools(headers=caller)
    _expect(place.sent()[0].count("tools/list"), 3)


async def _tells_names_apart(place: Place) -> None:
    """F-MANY-11: two servers with the same tools; each call reaches the server of its name."""
    async with place.manager("one", "two") as manager:
        names = [tool.name for tool in manager.tools]
        _expect(len(set(names)), len(names))
        for server in ("one", "two", "two"):
            await manager.call_tool(f"{server}__echo", {"text": server})
    _expect(sorted(methods.count("tools/call") for methods in place.sent()), [1, 2])


async def _is_tied_to_no_task(place: Place) -> None:
    """F-LIFE-5: opened in one task, used in another loop and thread, closed in a third task."""
    client = mcpclient.connect(place.target, trace=place.trace, stderr="discard")

    def call() -> str:
        return asyncio.run(client.call_tool("echo", {"text": "hello"})).text

    await asyncio.ensure_future(client.connect())
    said = await asyncio.get_running_loop().run_in_executor(None, call)
    await asyncio.ensure_future(client.close())
    _expect(said, "hello")
    _expect([methods.count("tools/call") for methods in place.sent()], [1])


async def _asks_before_a_call(place: Place) -> None:
    """F-API-23: a call that the user refuses is never sent."""
    answers = [False, True]
    async with place.manager("server") as manager:
        box = manager.toolbox("anthropic", approve=lambda call, tool: answers.pop(0))
        use = {"type": "tool_use", "id": "1", "name": "server__echo", "input": {"text": "hello"}}
        for expected in (0, 1):
            await box.run({"content": [use]})
            _expect(place.sent()[0].count("tools/call"), expected)


async def _distrusts_annotations(place: Place) -> None:
    """F-SAFE-3: a tool that says that it only reads is believed when its server is trusted."""
    command, *arguments = place.target
    for is_trusted, expected in ((False, []), (True, ["server__add"])):
        entry = {"command": command, "args": arguments, "trusted": is_trusted}
        config = place.folder / "servers.json"
        config.write_text(json.dumps({"mcpServers": {"server": entry}}), "utf-8")
        bridge = [sys.executable, "-m", "mcpclient", "bridge", "--read-only", "--quiet"]
        words = [*bridge, "--wait", "60", "--config", str(config)]
        async with mcpclient.connect(words, trace=place.trace) as client:
            _expect([tool.name for tool in await client.list_tools()], expected)


Show = Callable[[Place], Awaitable[None]]

DUTIES: dict[str, tuple[Any, ...]] = {
    "it keeps what it found for an origin": ("mcp1-http", LATEST_HANDSHAKE, _remembers_the_era),
    "it starts again what has exited, and listens": (
        *("sdk2-stdio", LATEST_STATELESS, _starts_it_again),
    ),
    "it shares no private result": (
        *("sdk2-http", LATEST_STATELESS, _keeps_private_results_apart, "private"),
    ),
    "it tells tools of one name apart": ("sdk2-stdio", LATEST_STATELESS, _tells_names_apart),
    "it is tied to no task or thread": ("mcp2-stdio", LATEST_STATELESS, _is_tied_to_no_task),
    "it asks before a call": ("mcp2-stdio", LATEST_STATELESS, _asks_before_a_call),
    "it distrusts annotations": ("sdk1-stdio", LATEST_HANDSHAKE, _distrusts_annotations),
}
