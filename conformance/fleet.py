"""``python -m conformance.fleet``: twelve servers of different makers in one ``.mcp.json``.

Servers from npm and PyPI over stdio, HTTP, HTTP+SSE and WebSocket, one that wants a login, one that
crashes at start, one that never answers, one that is switched off, and one that a policy forbids.
Each has to get the right status. Then, under calls from all sides, every server that works is
killed and started again, one after the other: no answer is wrong, no call is left without an
outcome, and every server works again in the end.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mcpclient
from conformance import peers
from conformance.live_plans import NOON
from conformance.workspace import free_port, wait_until_it_listens, workspace

CONNECT_SECONDS = 8.0
CALLERS = 2
RECOVERY_SECONDS = 40.0

EXPECTED = {
    **dict.fromkeys(("everything", "filesystem", "git", "time"), "connected"),
    **dict.fromkeys(("everything-http", "everything-sse", "typescript-ws"), "connected"),
    "protected": "needs_auth",
    "crashing": "failed",
    "silent": "connecting",
    "switched-off": "disabled",
    "forbidden": "denied",
}


@dataclass
class Listener:
    """A server that listens, and can be killed and started again at the same port."""

    name: str
    environment: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = peers.command(self.name)
        assert command is not None
        self.process = subprocess.Popen(
            command,
            cwd=peers.TOP,
            env={**os.environ, "PORT": str(self.port), **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until_it_listens(self.process, self.port)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    @property
    def url(self) -> str:
        server = peers.SERVERS[self.name]
        scheme = "ws" if server.transport == "ws" else "http"
        return f"{scheme}://127.0.0.1:{self.port}{server.path}"


@dataclass(frozen=True)
class Question:
    """A call whose answer is known."""

    tool: str
    arguments: Mapping[str, Any]
    answer: str


def questions(folder: Path) -> dict[str, Question]:
    echo = Question("echo", {"message": "Grüße"}, "Grüße")
    listing = {"path": str(folder / "files")}
    status = {"repo_path": str(folder / "repository")}
    return {
        "everything": echo,
        "filesystem": Question("list_directory", listing, "text.txt"),
        "git": Question("git_status", status, "On branch"),
        "time": Question("convert_time", NOON, "21:00"),
        "everything-http": echo,
        "everything-sse": echo,
        "typescript-ws": Question("echo", {"text": "Grüße"}, "Grüße"),
    }


@contextlib.contextmanager
def listeners() -> Iterator[dict[str, Listener]]:
    ws = str(peers.node_module("ws/wrapper.mjs", "node-websocket"))
    found = {
        "everything-http": Listener("everything-http"),
        "everything-sse": Listener("everything-sse"),
        "typescript-ws": Listener("sdk1-ws", {"WS": ws}),
        "protected": Listener("mcp2-authorized", {"AUTH_PORT": str(free_port())}),
    }
    try:
        for listener in found.values():
            listener.start()
        yield found
    finally:
        for listener in found.values():
            listener.kill()


def configuration(folder: Path, listening: Mapping[str, Listener]) -> dict[str, Any]:
    """Return the content of ``.mcp.json``."""

    def stdio(name: str, *arguments: str) -> dict[str, Any]:
        command = peers.command(name)
        assert command is not None
        return {"command": command[0], "args": [*command[1:], *arguments]}

    remote = {
        name: {"type": peers.SERVERS[each.name].transport, "url": each.url}
        for name, each in listening.items()
    }
    python = {"command": sys.executable}
    return {
        "mcpServers": {
            "everything": stdio("everything-stdio"),
            "filesystem": stdio("filesystem", str(folder / "files")),
            "git": stdio("git"),
            "time": stdio("time"),
            **remote,
            "crashing": {**python, "args": ["-c", "import sys; sys.exit('no database')"]},
            "silent": {**python, "args": ["-c", "import time; time.sleep(1000)"]},
            "switched-off": {**python, "args": ["-c", ""], "disabled": True},
            "forbidden": {"command": "npx", "args": ["-y", "@sketchy/server"]},
        }
    }


async def statuses_are_right(manager: mcpclient.Manager) -> None:
    for server in manager.servers.values():
        reason = str(server.error or "").replace("\n", " ")[:70]
        print(f"  {server.name:16} {server.status:12} {len(server.tools):3} tools  {reason}")
    found = {server.name: server.status.value for server in manager.servers.values()}
    assert found == EXPECTED, found
    assert "no database" in str(manager.servers["crashing"].error)


class Load:
    """Callers that ask every working server again and again, and check the answers."""

    def __init__(self, manager: mcpclient.Manager, asked: Mapping[str, Question]) -> None:
        self.outcomes: dict[str, Counter[str]] = {name: Counter() for name in asked}
        self._manager = manager
        self._asked = asked
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        for name in self._asked:
            for _ in range(CALLERS):
                self._tasks.append(asyncio.get_running_loop().create_task(self._ask(name)))

    async def _ask(self, name: str) -> None:
        question, outcomes = self._asked[name], self.outcomes[name]
        while True:
            outcomes[await self.once(name, question)] += 1
            await asyncio.sleep(0.02)

    async def once(self, name: str, question: Question) -> str:
        try:
            calling = self._manager.call_tool(
                f"{name}__{question.tool}", question.arguments, timeout=30
            )
            result = await asyncio.wait_for(calling, 90)
        except mcpclient.McpError as error:
            return type(error).__name__
        except asyncio.TimeoutError:
            return "NO OUTCOME"
        return "right" if question.answer in result.text else f"WRONG {result.text[:60]}"

    async def stop(self) -> None:
        pending = set(self._tasks)
        while pending:  # `wait_for` loses a cancellation that comes together with its result
            for task in pending:
                task.cancel()
            _, pending = await asyncio.wait(pending, timeout=1)


async def survives(name: str, load: Load, listener: Listener | None) -> None:
    """Kill a server, start it again where it does not belong to the client, and call it."""
    before = load.outcomes[name]["right"]
    manager, loop = load._manager, asyncio.get_running_loop()
    began = time.monotonic()
    if listener is None:
        transport: Any = manager[name]._connection.session.transport
        os.kill(transport._process.pid, signal.SIGKILL)
    else:
        await loop.run_in_executor(None, listener.kill)
        await asyncio.sleep(1)
        await loop.run_in_executor(None, listener.start)
    deadline = began + RECOVERY_SECONDS
    after = load.outcomes[name]["right"]
    while load.outcomes[name]["right"] < after + 5 and time.monotonic() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    took = time.monotonic() - began
    outcomes = ", ".join(f"{kind} {count}" for kind, count in sorted(load.outcomes[name].items()))
    print(f"  {name:16} works again after {took:4.1f} s   {outcomes}")
    assert load.outcomes[name]["right"] >= after + 5 > before, f"{name} did not come back"


async def meet(folder: Path, file: Path, listening: Mapping[str, Listener]) -> None:
    policy = mcpclient.Policy(deny=["command:npx * @sketchy/*"])
    print(f"Connecting {len(EXPECTED)} servers of {file.name}, for {CONNECT_SECONDS:g} s at most:")
    manager = mcpclient.connect_all(
        file, wait=CONNECT_SECONDS, policy=policy, stderr="discard", connect_timeout=60
    )
    async with manager:
        await statuses_are_right(manager)
        load = Load(manager, questions(folder))
        load.start()
        try:
            print("Killing and restarting each in turn, under load:")
            for name in load.outcomes:
                await survives(name, load, listening.get(name))
        finally:
            await load.stop()
        kinds = {kind for outcomes in load.outcomes.values() for kind in outcomes}
        assert not any(kind.startswith(("WRONG", "NO")) for kind in kinds), kinds
        began = time.monotonic()
    took = time.monotonic() - began
    total = sum(sum(outcomes.values()) for outcomes in load.outcomes.values())
    print(f"{total} calls, each with a right answer or a reason; closed in {took:.1f} s")
    assert took < 6, took


def main() -> int:
    """Run; 1 means that something is not as it has to be, 2 that peers are missing."""
    needed = {"node-servers", "node-sdks", "node-websocket", "git", "time", "mcp2"}
    missing = sorted(name for name in needed if not peers.is_installed(name))
    if missing:
        print(f"python -m conformance.peers install {' '.join(missing)}", file=sys.stderr)
        return 2
    with workspace() as (folder, _), listeners() as listening, tempfile.TemporaryDirectory() as top:
        file = Path(top, ".mcp.json")
        file.write_text(json.dumps(configuration(folder, listening), indent=2), "utf-8")
        try:
            asyncio.run(meet(folder, file, listening))
        except AssertionError as error:
            print(f"not as it has to be: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
