"""Clients of the server in `mcp_server`, which runs in this process or in one of its own."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from mcpclient.client.client import Client
from mcpclient.net.process.stopping import StopLadder
from mcpclient.transports.inprocess import InProcessTransport
from tests.support.mcp_server import McpServer
from tests.support.subprocesses import TOP

STDIO = [sys.executable, "-S", "-E", str(TOP / "tests" / "servers" / "mcp_stdio.py")]
QUICK = StopLadder(close_input=0.3, terminate=0.3)


def client_of(server: McpServer | None = None, **options: Any) -> Client:
    """Return a client of a server in this process, not yet connected."""
    return Client(InProcessTransport((server or McpServer()).serve), **options)


def spawn(*arguments: str, **options: Any) -> Client:
    """Return a client of a server process, whose command line ends in ``arguments``."""
    return Client([*STDIO, *arguments], **{"stderr": "discard", "stop_ladder": QUICK, **options})


def now() -> float:
    """The time of the event loop, which is virtual in most tests."""
    return asyncio.get_running_loop().time()
