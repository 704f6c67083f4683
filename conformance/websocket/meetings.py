"""Meet the WebSocket servers of other libraries for real, each in a process of its own."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import mcpclient
from conformance import peers
from conformance.results import FAILED, NOT_RUN, PASSED, Row

SERVERS = Path(__file__).with_name("servers")

# Real seconds for a server to listen, and for the client to ask everything.
PATIENCE = 60.0

CALLS = 100
LARGE = "a large message, é 👋 " * 100_000


def run() -> Iterator[Row]:
    """Meet every server, and yield one row for each."""
    for name, command in _commands().items():
        if isinstance(command, str):
            yield Row("websocket", name, NOT_RUN, command)
            continue
        try:
            with _running(command) as port:
                detail = asyncio.run(asyncio.wait_for(_meet(port), PATIENCE))
        except Exception as error:
            yield Row("websocket", name, FAILED, f"{type(error).__name__}: {error}")
        else:
            yield Row("websocket", name, PASSED, detail)


def _commands() -> dict[str, list[str] | str]:
    """How each server is started, or why it cannot be."""
    commands: dict[str, list[str] | str] = {}
    commands["websockets"] = (
        [sys.executable, str(SERVERS / "websockets_server.py")]
        if importlib.util.find_spec("websockets")
        else "pip install -r tests/requirements.txt"
    )
    python = peers.python("mcp1")
    commands["mcp 1.x under uvicorn"] = (
        [python, str(SERVERS / "mcp1_uvicorn.py")] if python else _install("mcp1")
    )
    node = peers.node() if peers.is_installed("node-websocket") else None
    package = peers.node_module("ws", "node-websocket")
    commands["npm ws"] = (
        [node, str(SERVERS / "ws.mjs"), str(package)] if node else _install("node-websocket")
    )
    return commands


def _install(environment: str) -> str:
    return f"python -m conformance.peers install {environment}"


@contextmanager
def _running(command: list[str]) -> Iterator[int]:
    """Start a server that prints its port."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    watchdog = threading.Timer(PATIENCE, process.kill)
    watchdog.start()
    with process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            if not line:
                raise RuntimeError("the server ended before it listened")
            yield int(line)
        finally:
            watchdog.cancel()
            process.kill()


async def _meet(port: int) -> str:
    """Connect as a user would: many calls at once, a large one both ways, a ping, a close."""
    async with mcpclient.connect(f"ws://127.0.0.1:{port}/mcp", proxy=False) as client:
        texts = [f"number {number} é" for number in range(CALLS)]
        calls = (client.call_tool("echo", {"message": text}) for text in texts)
        if [result.text for result in await asyncio.gather(*calls)] != texts:
            raise AssertionError("answers and calls were mixed up")
        if (await client.call_tool("echo", {"message": LARGE})).text != LARGE:
            raise AssertionError("a large message came back changed")
        await client.ping()
        return f"{client.protocol_version}, {CALLS} calls at once, {len(LARGE)} characters"


if __name__ == "__main__":
    for row in run():
        print(row)
