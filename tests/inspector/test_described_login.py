"""F-SHOW-10, F-AUTH-12: the login to a server: its description, its end, and by hand."""

from __future__ import annotations

import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Callable

import pytest

import mcpclient
from mcpclient import (
    AuthorizationRequired,
    Client,
    McpError,
    MemoryStore,
    OAuth,
    TwoStepLogin,
    UsageError,
)
from mcpclient.inspector.described import described_login, finish_login, known_login, login_of
from tests.inspector.showcase import Showcase
from tests.support.http_server import HttpServer
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer
from tests.support.protected import Protected, User

PACKAGE = str(Path(mcpclient.__file__).parent)


@asynccontextmanager
async def play(
    provider: Callable[[Protected], Any] = User,
) -> AsyncIterator[tuple[Client, Protected]]:
    protected = Protected(StreamableEndpoint(McpServer()).routes)
    async with HttpServer(protected.routes) as server:
        auth = OAuth(local_development=True, provider=provider(protected))
        client = Client(str(server.url()), auth=auth, protocol_version="2025-11-25")
        try:
            yield client, protected
        finally:
            await client.close()


async def test_no_traceback_holds_the_code_of_a_login() -> None:
    """F-AUTH-12: services that collect errors send the variables of every frame."""
    async with play(lambda _: TwoStepLogin(MemoryStore())) as (client, _):
        for wrong in ("http://127.0.0.1/?state=SECRET", "http://127.0.0.1/?code=SECRET&state=s"):
            with pytest.raises(McpError) as caught:
                await finish_login(client, wrong)
            frames = traceback.StackSummary.extract(
                traceback.walk_tb(caught.value.__traceback__), capture_locals=True
            )
            ours = [frame for frame in frames if frame.filename.startswith(PACKAGE)]
            assert "finish_login" in {frame.name for frame in ours}
            assert "SECRET" not in str([frame.locals for frame in ours])


async def test_a_server_without_a_login() -> None:
    client = Client(Showcase().transport)
    assert login_of(client) is None
    error = AuthorizationRequired("https://server.example/mcp")  # It is not an address to visit.
    assert await described_login(client, error) == {"login": None, "visit": None, "host": None}
    with pytest.raises(UsageError, match="no login"):
        known_login(client)
    with pytest.raises(UsageError, match="no login"):
        await finish_login(client, "http://x/?code=c&state=s")
