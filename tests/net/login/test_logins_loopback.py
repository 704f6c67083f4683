"""The listener a browser comes back to: its own callback and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import pytest

from mcpclient.auth.effects import Callback
from mcpclient.net.login.logins import LoopbackListener


async def fetch(uri: str, request: bytes) -> bytes:
    parts = urlsplit(uri)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(request.replace(b"HOST", parts.netloc.encode()))
    try:
        return await asyncio.wait_for(reader.read(), 5)
    except ConnectionError:
        return b""
    finally:
        writer.close()


@asynccontextmanager
async def listening(
    uri: str | None = None, state: str = "s"
) -> AsyncIterator[tuple[str, asyncio.Future[Callback]]]:
    """Give the address of a listener that waits for the callback with a state, and its wait."""
    listener = await LoopbackListener.open(uri)
    waiting = asyncio.ensure_future(listener.wait_for(state))
    await asyncio.sleep(0)
    yield listener.redirect_uri, waiting
    listener.close()


def get(target: str, method: str = "GET") -> bytes:
    return f"{method} {target} HTTP/1.1\r\nHost: HOST\r\n\r\n".encode()


def status(response: bytes) -> int:
    return int(response.split(b" ", 2)[1])


@pytest.mark.parametrize(
    ("request_bytes", "expected"),
    [
        (get("/"), 404),
        (get("/favicon.ico"), 404),
        (get("/callback/x?code=c&state=s"), 404),
        (get("/callback?code=c&state=s", "POST"), 404),
        (get("/callback"), 400),
        (get("/callback?code=c"), 400),
        (get("/callback?code=c&state=other"), 400),
        (get("/callback?code=c&state=%C3%A9"), 400),
        (get("/callback?code=c&code=d&state=s"), 400),
        (get("/callback?code=c&state=s").replace(b"HOST", b"evil.example"), 421),
        (b"\r\n\r\n", 400),
        (b"\xff\xff\r\n\r\n", 400),
    ],
)
async def test_anything_else_is_answered_and_ignored(request_bytes: bytes, expected: int) -> None:
    """F-AUTH-8: a stray or forged request cannot end the login, nor take its place."""
    async with listening() as (uri, waiting):
        assert status(await fetch(uri, request_bytes)) == expected
        assert not waiting.done()
        await fetch(uri, get("/callback?code=right&state=s"))
        assert (await waiting).code == "right"


async def test_nothing_counts_before_a_login_waits_or_after_it_was_answered() -> None:
    """F-AUTH-8: one answer."""
    listener = await LoopbackListener.open()
    target = get("/callback?code=c&state=")
    assert status(await fetch(listener.redirect_uri, target)) == 400
    waiting = asyncio.ensure_future(listener.wait_for("s"))
    await asyncio.sleep(0)
    first = await fetch(listener.redirect_uri, get("/callback?code=1&state=s"))
    second = await fetch(listener.redirect_uri, get("/callback?code=2&state=s"))
    assert (status(first), status(second)) == (200, 400)
    assert (await waiting).code == "1"
    listener.close()
