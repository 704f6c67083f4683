"""The listener a browser comes back to: its own callback and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

from mcpclient.auth.effects import Callback
from mcpclient.errors import AuthError
from mcpclient.net.login.logins import LoopbackListener, is_loopback


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


async def free_port() -> int:
    free = await LoopbackListener.open()
    free.close()
    return urlsplit(free.redirect_uri).port or 0


def get(target: str, method: str = "GET") -> bytes:
    return f"{method} {target} HTTP/1.1\r\nHost: HOST\r\n\r\n".encode()


def status(response: bytes) -> int:
    return int(response.split(b" ", 2)[1])


async def test_the_callback_with_the_state_is_taken() -> None:
    """F-AUTH-8: on 127.0.0.1, on a free port, with a clear page."""
    listener = await LoopbackListener.open()
    parts = urlsplit(listener.redirect_uri)
    assert (parts.hostname, parts.path) == ("127.0.0.1", "/callback")
    server: Any = listener._server._server
    assert [each.getsockname()[0] for each in server.sockets] == ["127.0.0.1"]
    waiting = asyncio.ensure_future(listener.wait_for("state"))
    await asyncio.sleep(0)
    page = await fetch(listener.redirect_uri, get("/callback?code=c&state=state&iss=i"))
    assert await waiting == Callback("c", "state", "i")
    assert status(page) == 200
    assert b"<h1>You are logged in</h1>" in page
    for header in (b"no-store", b"default-src 'none'", b"no-referrer", b"nosniff"):
        assert header in page
    listener.close()


async def test_an_error_is_an_answer_too() -> None:
    """F-AUTH-8: the page says so, and repeats nothing of what came."""
    async with listening() as (uri, waiting):
        target = "/callback?error=access_denied&error_description=%3Cscript%3E&state=s"
        page = await fetch(uri, get(target))
        assert (await waiting).error == "access_denied"
    assert b"You are not logged in" in page
    assert b"script" not in page


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


async def test_closing_ends_what_still_waits() -> None:
    """F-AUTH-8: a browser that has opened a connection ahead holds nothing up."""
    listener = await LoopbackListener.open()
    parts = urlsplit(listener.redirect_uri)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    waiting = asyncio.ensure_future(listener.wait_for("s"))
    await asyncio.sleep(0.01)
    listener.close()
    listener.close()
    assert await asyncio.wait_for(reader.read(), 5) == b""
    with pytest.raises(asyncio.CancelledError):
        await waiting
    writer.close()


async def test_the_callers_own_address() -> None:
    """F-AUTH-8: a registered redirect URI with its own port and path; taken, it is an error."""
    port = await free_port()
    async with listening(f"http://localhost:{port}/back?x=1") as (uri, waiting):
        assert uri == f"http://localhost:{port}/back?x=1"
        with pytest.raises(AuthError, match=f"cannot listen on port {port} of localhost"):
            await LoopbackListener.open(uri)
        await fetch(f"http://127.0.0.1:{port}", get("/back?x=1&code=c&state=s"))
        assert (await waiting).code == "c"


async def test_an_address_without_a_path() -> None:
    """F-AUTH-8: a browser asks for its root."""
    async with listening(f"http://127.0.0.1:{await free_port()}") as (uri, waiting):
        assert status(await fetch(uri, get("/?code=c&state=s"))) == 200
        assert (await waiting).code == "c"


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("http://127.0.0.1/c", True),
        ("http://localhost:3000/c", True),
        ("http://[::1]:1/c", True),
        ("https://localhost/c", False),
        ("http://app.example/c", False),
        ("myapp://callback", False),
    ],
)
def test_which_addresses_are_here(uri: str, expected: bool) -> None:
    """F-AUTH-8"""
    assert is_loopback(uri) is expected
