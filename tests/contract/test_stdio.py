"""A server process keeps the contract, also in a copy that has nothing else."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcpclient.transports.base import Transport
from mcpclient.transports.stdio import StdioTransport
from tests.contract.transport_contract import TransportContract
from tests.support.subprocesses import TOP


class TestStdio(TransportContract):
    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Transport]:
        yield StdioTransport([sys.executable, str(TOP / "tests" / "servers" / "mcp_stdio.py")])
