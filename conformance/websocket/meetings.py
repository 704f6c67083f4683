"""Meet the WebSocket servers of other libraries for real, each in a process of its own.

Our servers on plain WebSocket libraries speak whatever revision they are asked for; the Python SDK
has this transport in the handshake era only.
"""

from __future__ import annotations

import asyncio
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import mcpclient
from conformance import peers, traces
from conformance.results import FAILED, NOT_RUN, PASSED, WEBSOCKET, Row
from conformance.summary import REVISIONS
from conformance.websocket import autobahn
from mcpclient.protocol.negotiation import HANDSHAKE_VERSIONS

ENVIRONMENTS = ("mcp1", "node-websocket")

MCP1 = "mcp 1.x under uvicorn"
SERVERS = Path(__file__).with_name("servers")

# Real seconds for a server to listen, and for the client to ask everything.
PATIENCE = 60.0

CALLS = 100
CHECKS = ("the revision", f"{CALLS} calls at once", "a large message both ways", "a ping")
LARGE = "a large message, é 👋 " * 100_000


def run() -> Iterator[Row]:
    """Meet every server in every revision, and yield a row for each; then comes Autobahn."""
    for name, command in _commands().items():
        for revision in HANDSHAKE_VERSIONS if name == MCP1 else REVISIONS:
            row = partial(
                Row, "websocket", f"{name} {revision}", revision=revision, transport=WEBSOCKET
            )
            if isinstance(command, str):
                yield row(NOT_RUN, command)
                continue
            try:
                with _running(command) as port:
                    asyncio.run(asyncio.wait_for(_meet(port, revision), PATIENCE))
            except Exception as error:
                yield row(FAILED, f"{type(error).__name__}: {error}", checks=1)
            else:
                yield row(PASSED, ", ".join(CHECKS), checks=len(CHECKS), held=len(CHECKS))
    yield from autobahn.run()


def _commands() -> dict[str, list[str] | str]:
    """The start of each server, or the reason why it has none."""
    commands: dict[str, list[str] | str] = {}
    python = peers.python("mcp1")
    for name, script in (
        ("websockets", "websockets_server.py"),
        (MCP1, "mcp1_uvicorn.py"),
    ):
        commands[name] = [python, str(SERVERS / script)] if python else peers.why_not("mcp1")
    node = peers.node() if peers.is_installed("node-websocket") else None
    package = peers.node_module("ws", "node-websocket")
    commands["npm ws"] = (
        [node, str(SERVERS / "ws.mjs"), str(package)] if node else peers.why_not("node-websocket")
    )
    return commands


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


async def _meet(port: int, revision: str) -> None:
    """Connect as a user would; raises AssertionError when one of `CHECKS` does not hold."""
    url = f"ws://127.0.0.1:{port}/mcp"
    trace = traces.new("websocket")
    async with mcpclient.connect(
        url, proxy=False, protocol_version=revision, trace=trace
    ) as client:
        if client.protocol_version != revision:
            raise AssertionError(f"negotiated {client.protocol_version}")
        texts = [f"number {number} é" for number in range(CALLS)]
        calls = (client.call_tool("echo", {"message": text}) for text in texts)
        if [result.text for result in await asyncio.gather(*calls)] != texts:
            raise AssertionError("answers and calls were mixed up")
        if (await client.call_tool("echo", {"message": LARGE})).text != LARGE:
            raise AssertionError("a large message came back changed")
        await client.ping()


if __name__ == "__main__":
    for row in run():
        print(row)
