"""The values of ``auth=``, and logging in and out by hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcpclient.auth.options import OAuth
from mcpclient.net.login import authentication
from mcpclient.net.login.authentication import authorizer_for, log_in, log_out, run_in_owner_loop
from tests.support.http_server import Answer, HttpServer, Request
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer
from tests.support.protected import Protected, User

URL = "https://mcp.example/mcp"

pytestmark = pytest.mark.usefixtures("own_credentials")


@asynccontextmanager
async def protected_server(**more: Any) -> AsyncIterator[tuple[str, Protected]]:
    """The URL of a server that asks for a login, and it; `more` routes go before its own."""
    protected = Protected(StreamableEndpoint(McpServer()).routes)
    async with HttpServer({**protected.routes, **more}) as server:
        yield str(server.url()), protected


def logging_in(user: Any) -> OAuth:
    return OAuth(local_development=True, provider=user)


@pytest.mark.parametrize("answers", [True, False])
async def test_logging_out_revokes(monkeypatch: pytest.MonkeyPatch, answers: bool) -> None:
    """F-AUTH-8: RFC 7009; a server that does not answer changes nothing about it."""
    revoked: list[bytes] = []
    monkeypatch.setattr(authentication, "REVOCATION_TIMEOUT", 10.0 if answers else 0.01)

    async def metadata(request: Request, answer: Answer) -> None:
        origin = f"http://{request.headers['host']}"
        ends = ("authorization", "token", "registration", "revocation")
        paths = ("authorize", "token", "register", "revoke")
        answer.json(
            {
                **{f"{end}_endpoint": f"{origin}/{path}" for end, path in zip(ends, paths)},
                "issuer": origin,
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["client_secret_post"],
            }
        )

    async def revoke(request: Request, answer: Answer) -> None:
        revoked.append(request.body)
        if answers:
            answer.full(200)

    well_known = "/.well-known/oauth-authorization-server"
    more = {well_known: metadata, "POST /revoke": revoke}
    async with protected_server(**more) as (url, protected):
        auth = logging_in(User(protected))
        await log_in(url, auth)
        for _ in range(2):
            await log_out(url, auth)
            assert await authorizer_for(auth, url).stored_grant() is None
    if answers:
        assert len(revoked) == 1
        assert b"token=SECRET-refresh-1" in revoked[0]


def test_what_is_the_callers_runs_here_when_its_loop_has_ended() -> None:
    """F-AUTH-5: whether before or in the middle of it."""
    calls: list[asyncio.AbstractEventLoop] = []

    async def where() -> str:
        calls.append(asyncio.get_running_loop())
        return "kept"

    ended = asyncio.new_event_loop()
    ended.close()
    assert asyncio.run(run_in_owner_loop(ended, where)) == "kept"
    assert calls[0] is not ended
