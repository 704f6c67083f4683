"""One way to reach a server, in use: a client, its server, its workers and what disturbs them."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from mcpclient import CallToolResult, Client, Hooks, McpError, StopLadder
from mcpclient.client.connection.session import Session
from mcpclient.client.requests import connection_of
from mcpclient.errors import CallTimeout
from mcpclient.transports.stdio import StdioTransport

from .calls import Call, outcome_of, random_call
from .latencies import Latencies
from .ledger import Ledger
from .watch import Violations

SERVER = [sys.executable, "-S", "-E", str(Path(__file__).with_name("server.py"))]

LADDER = StopLadder(close_input=0.2, terminate=0.2)
_VERSIONS = {"handshake": "2025-11-25", "stateless": "2026-07-28"}

_IMPOSSIBLE = ("legacy sse", "stateless")

KINDS = {
    "stdio": "",
    "http json": "http://127.0.0.1:{}/json",
    "http sse": "http://127.0.0.1:{}/sse",
    "legacy sse": "http://127.0.0.1:{}/legacy",
    "websocket": "ws://127.0.0.1:{}/ws",
    "socket": "tcp://127.0.0.1:{}",
}
"""The transports, and the URL of each where it has one."""

PATHS = [(kind, era) for kind in KINDS for era in _VERSIONS if (kind, era) != _IMPOSSIBLE]
"""Every transport in every era it exists in."""

# Seconds that a call may take beyond its limit on a machine that is busy with other things.
SLACK = 10.0
_CLOSE_WITHIN = 3.0
# A busy machine takes long to start a server again, and others kill it meanwhile.
_RESTARTED_WITHIN = 60.0

# Below the ports the system gives out, among which a client could dial itself.
_PORTS = range(20_000, 32_000)


class Lane:
    """One transport in one era. The numbers add up over all rounds."""

    prefix = ""
    tool = "soak"
    connects_within = 3.0

    def __init__(self, kind: str, era: str, seed: int, violations: Violations) -> None:
        self.name = self.prefix + (f"{kind} {era}" if kind != "legacy sse" else kind)
        self.kind = kind
        self.outcomes: Counter[str] = Counter()
        self.latencies = Latencies()
        self.calls = self.kills = self.reconnects = 0
        self._era = era
        self._violations = violations
        self._random = Random(f"{seed} {self.name}")
        self._options: dict[str, Any] = {
            "protocol_version": _VERSIONS[era],
            "connect_timeout": self.connects_within,
            "close_timeout": _CLOSE_WITHIN,
            "elicitation": _answer,
            "roots": ["/soak"],
            "listen_wait": 0.2,
            "tasks": True,
        }
        if kind == "legacy sse":
            self._options["transport"] = "sse"
        self._tokens = 0
        self.client: Any
        self._left: list[Any] = []  # clients that a disturbance is closing
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._ledger = Ledger(Path())
        self._keeping: asyncio.Task[None] | None = None

    # A round

    def begin(self, ledger: Ledger) -> None:
        """Start a server and a client."""
        self._ledger = ledger
        if self.kind != "stdio":
            self._port = self._port or free_port(self._random)
            self._start_server()
            self._keeping = asyncio.ensure_future(self._keep_server())
        self._new_client()

    async def run(self, until: float, workers: int) -> None:
        """Make random calls, and disturb them, until that time of the loop."""
        disturbing = asyncio.ensure_future(self._disturb())
        listening = asyncio.ensure_future(self._listen())
        seeds = [Random(self._random.random()) for _ in range(workers)]
        try:
            await asyncio.gather(*(self._work(random, until) for random in seeds))
        finally:
            for task in (disturbing, listening):
                await stop_task(task)
                if not task.cancelled() and task.exception() is not None:
                    self._violations.add(f"{self.name}: {task.exception()!r}")

    async def rest(self) -> None:
        """Be connected, with no call under way."""
        await self._connect(self.client)
        if self.client.is_connected:
            in_flight = self._in_flight(connection_of(self.client).session)
            if in_flight:
                self._violations.add(f"{self.name}: {in_flight} calls still in flight at rest")

    def _in_flight(self, session: Session) -> int:
        return session.in_flight

    async def end(self) -> None:
        """Close the client and stop the server."""
        for client in (*self._left, self.client):
            await self._close(client)
        self._left.clear()
        del self.client, client
        if self._process is not None and self._keeping is not None:
            await stop_task(self._keeping)
            kill(self._process)
            self._process = None

    # The client

    def _new_client(self) -> None:
        connections = itertools.count()

        def connected(**facts: object) -> None:
            self.reconnects += next(connections) > 0

        self.client = self._make_client(Hooks(on_connect=connected))

    def _make_client(self, hooks: Hooks) -> Any:
        options = {**self._options, "hooks": hooks}
        if self.kind == "stdio":
            command = [*SERVER, str(self._ledger.path)]
            return Client(command, stderr="discard", stop_ladder=LADDER, **options)
        return Client(KINDS[self.kind].format(self._port), **options)

    async def _connect(self, client: Client) -> None:
        """Connect, as often as it takes while servers are being killed."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        while loop.time() < begun + _RESTARTED_WITHIN:
            if client.is_connected or client is not self.client:
                return
            try:
                await self._within(self.connects_within, client.connect(), "connect()")
                if client is not self.client:  # it was replaced just before
                    await self._close(client)
                return
            except CallTimeout:
                await self.kill_server()  # it hangs, for good
            except McpError:
                await asyncio.sleep(0.05)
            except Exception as error:
                self._violations.add(f"{self.name}: connecting raised {error!r}")
        self._violations.add(f"{self.name}: could not connect within {_RESTARTED_WITHIN:.0f} s")

    async def _close(self, client: Client) -> None:
        await self._within(_CLOSE_WITHIN, client.close(), "close()")

    async def _within(self, seconds: float, work: Any, what: str) -> None:
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task}, timeout=seconds + SLACK)
        finally:
            if not task.done():
                task.cancel()
        if task.done():
            task.result()
        else:
            self._violations.add(f"{self.name}: {what} took longer than {seconds} s")

    # Calls

    async def _work(self, random: Random, until: float) -> None:
        loop = asyncio.get_running_loop()
        while loop.time() < until:
            call = random_call(random, self.token())
            outcome = await self.make(call)
            if call.act == "hang":
                await self.kill_server()
            if outcome in ("lost", "closed"):
                await asyncio.sleep(0.05)

    def token(self) -> str:
        """A token for one call, which no other has."""
        self._tokens += 1
        return f"{self.name.replace(' ', '-')}-{self._tokens}"

    async def make(self, call: Call) -> str:
        """Make one call, connected first if need be, and judge what comes of it."""
        self.calls += 1
        client, loop = self.client, asyncio.get_running_loop()
        if not client.is_connected:
            await self._connect(client)
        began = loop.time()
        task = asyncio.ensure_future(self._call(client, call))
        if call.cancelled_after is not None:
            timer = loop.call_later(call.cancelled_after, task.cancel)
            # It must not keep the references of a failed call: they lead to the whole client.
            task.add_done_callback(lambda _: timer.cancel())
        await asyncio.wait({task}, timeout=call.limit + SLACK)
        if not task.done():
            self._violations.add(f"{self.name}: {call} has no outcome in time")
            task.cancel()
            return "none"
        outcome, wrong = outcome_of(task, call)
        if wrong:
            self._violations.add(f"{self.name}: {call} {wrong}")
        self.outcomes[outcome] += 1
        if outcome == "result":
            self._ledger.succeeded(call.token)
            if call.act == "echo":
                self.latencies.add(loop.time() - began)
        return outcome

    async def _call(self, client: Any, call: Call) -> CallToolResult:
        if call.act == "task":
            task = await client.call_tool_task(self.tool, call.arguments, timeout=call.timeout)
            result: CallToolResult = await client.await_task(
                task, timeout=call.timeout, max_timeout=call.max_timeout
            )
            return result
        on_progress = _ignore if call.act == "progress" else None
        limits = {"timeout": call.timeout, "max_timeout": call.max_timeout}
        answer: CallToolResult = await client.call_tool(
            self.tool, call.arguments, on_progress=on_progress, **limits
        )
        return answer

    async def _listen(self) -> None:
        """Have a subscription most of the time."""
        while True:
            with suppress(McpError, asyncio.TimeoutError, StopAsyncIteration):
                async with self.client.listen(tools=True) as subscription:
                    for _ in range(self._random.randrange(1, 20)):
                        await asyncio.wait_for(subscription.__anext__(), 1.0)
            await asyncio.sleep(0.05)

    # Disturbances

    async def _disturb(self) -> None:
        while True:
            await asyncio.sleep(self._random.uniform(0.2, 2.0))
            what = self._random.choice((self.kill_server, self._freeze_server, self._replace))
            await what()

    async def kill_server(self) -> None:
        process_id = self._server_id()
        if process_id is not None:
            self.kills += 1
            send_signal(process_id, signal.SIGKILL)

    async def _freeze_server(self) -> None:
        """Let the server stand still for a while, so that it reads nothing."""
        process_id = self._server_id()
        if process_id is None:
            return
        send_signal(process_id, signal.SIGSTOP)
        try:
            await asyncio.sleep(self._random.uniform(0.05, 0.5))
        finally:
            send_signal(process_id, signal.SIGCONT)

    async def _replace(self) -> None:
        """Close the client under its calls, twice at once, and go on with another."""
        old = self.client
        self._new_client()
        self._left.append(old)
        await asyncio.gather(self._close(old), self._close(old))
        self._left.remove(old)

    def _server_id(self) -> int | None:
        """The process to disturb; None when it has ended, and its number may be another's."""
        if self._port:
            process = self._process
            return process.pid if process is not None and process.returncode is None else None
        connection = connection_of(self.client)
        if not connection.is_open:
            return None
        assert isinstance(connection.session.transport, StdioTransport)
        return connection.session.transport.process_id

    # The server

    def _start_server(self) -> None:
        command = [*SERVER, str(self._ledger.path), str(self._port)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)

    async def _keep_server(self) -> None:
        """Start the server again, on the same port, whenever it has died."""
        while True:
            await asyncio.sleep(0.05)
            if self._process is not None and self._process.poll() is not None:
                kill(self._process)
                self._start_server()


def kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    assert process.stdin is not None
    process.stdin.close()
    process.wait()


async def stop_task(task: asyncio.Task[None]) -> None:
    """Cancel until it helps: before Python 3.12, `asyncio.wait_for` may swallow a cancellation."""
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=1.0)


async def _answer(request: object) -> dict[str, Any]:
    await asyncio.sleep(0.001)
    return {}


def send_signal(process_id: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process_id, number)


def _ignore(progress: object) -> None:
    pass


def free_port(random: Random) -> int:
    while True:
        port = random.choice(_PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
