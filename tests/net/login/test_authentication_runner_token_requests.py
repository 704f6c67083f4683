"""A token request that is on its way is finished and stored, whatever becomes of the caller.

The authorization server replaces the refresh token as soon as it is asked, and answers later:
whoever does not wait for the answer has lost the login.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable
from urllib.parse import parse_qsl

import pytest

from mcpclient.auth.clients import RegisteredClient
from mcpclient.auth.grants import Grant, store_name
from mcpclient.auth.options import OAuth
from mcpclient.auth.tokens import TokenSet
from mcpclient.client.client import Client
from mcpclient.errors import McpError
from mcpclient.net.login.logins import TwoStepLogin
from mcpclient.net.login.storage import FileStore

# Seconds between the moment when the server replaces the refresh token and its answer.
DELAY = 0.3


class Rotating:
    """An authorization server with one refresh token, and an MCP server that never answers."""

    def __init__(self, folder: Path) -> None:
        self.current = "refresh-0"
        self.arrived = threading.Event()
        self.file = folder / "credentials.json"
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, answer = outer.answer(self.path, body)
                content = json.dumps(answer).encode()
                with suppress(OSError):
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)

            def log_message(self, *arguments: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self.server.server_port}"
        self.url = f"{self.origin}/mcp"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def answer(self, path: str, body: bytes) -> tuple[int, dict[str, object]]:
        if path != "/token":
            return 404, {}
        if dict(parse_qsl(body.decode()))["refresh_token"] != self.current:
            return 400, {"error": "invalid_grant"}
        self.current = "refresh-1"
        self.arrived.set()
        time.sleep(DELAY)
        return 200, {"access_token": "new", "expires_in": 3600, "refresh_token": self.current}

    def stop(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    @property
    def key(self) -> str:
        return f"grant OAuth {store_name(self.url)}"

    def store_an_expired_login(self) -> None:
        tokens = TokenSet("old", expires_at=1.0, renew_at=1.0, refresh_token=self.current)
        client = RegisteredClient("the-client", self.origin)
        grant = Grant(client, f"{self.origin}/token", None, (), None, None, None, tokens)
        asyncio.run(FileStore(self.file).save(self.key, grant.to_record()))

    def stored_refresh_token(self) -> object:
        record = json.loads(self.file.read_text()).get(self.key)
        return record and record["tokens"]["refresh_token"]

    def auth(self) -> OAuth:
        return OAuth(local_development=True, provider=TwoStepLogin(FileStore(self.file)))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Rotating]:
    made = Rotating(tmp_path)
    made.store_an_expired_login()
    yield made
    for thread in threading.enumerate():
        if thread.name == "mcpclient-shielded":
            thread.join(10)
    made.stop()


async def cancel_connect(client: Client, connecting: asyncio.Task[Any]) -> None:
    connecting.cancel()
    with suppress(asyncio.CancelledError):
        await connecting


async def run_out_of_time(client: Client, connecting: asyncio.Task[Any]) -> None:
    with suppress(asyncio.TimeoutError):
        await asyncio.wait_for(connecting, 0.01)


async def close(client: Client, connecting: asyncio.Task[Any]) -> None:
    await client.close()
    with suppress(McpError, asyncio.CancelledError):
        await connecting


async def close_and_cancel(client: Client, connecting: asyncio.Task[Any]) -> None:
    closing = asyncio.ensure_future(client.close())
    await asyncio.sleep(0)
    closing.cancel()
    connecting.cancel()
    await asyncio.gather(closing, connecting, return_exceptions=True)


async def return_at_once(client: Client, connecting: asyncio.Task[Any]) -> None:
    """Leave the rest to `asyncio.run`."""


WAYS: list[Callable[[Client, asyncio.Task[Any]], Awaitable[None]]] = [
    cancel_connect,
    run_out_of_time,
    close,
    close_and_cancel,
    return_at_once,
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_refresh_on_its_way_is_stored(server: Rotating, way: Any) -> None:
    """F-AUTH-5: what the server has replaced is never lost."""

    async def main() -> None:
        client = Client(server.url, auth=server.auth())
        connecting = asyncio.ensure_future(client.connect())
        await asyncio.get_running_loop().run_in_executor(None, server.arrived.wait, 10)
        await way(client, connecting)

    asyncio.run(main())
    assert server.stored_refresh_token() == "refresh-1"


def test_a_refresh_is_stored_after_connecting_took_too_long(server: Rotating) -> None:
    """F-AUTH-5: the limit of `connect` ends the attempt, and not the request on its way."""

    async def main() -> None:
        client = Client(server.url, auth=server.auth(), connect_timeout=DELAY / 2)
        with suppress(McpError):
            await client.connect()

    asyncio.run(main())
    if server.arrived.is_set():  # on a machine that took its time, nothing was on its way
        assert server.stored_refresh_token() == "refresh-1"


PROGRAM = """
import asyncio, sys
import mcpclient

async def main():
    login = mcpclient.TwoStepLogin(mcpclient.FileStore(sys.argv[2]))
    auth = mcpclient.OAuth(local_development=True, provider=login)
    async with mcpclient.connect(sys.argv[1], auth=auth) as client:
        await client.list_tools()

asyncio.run(main())
"""


def environment(**variables: str) -> dict[str, str]:
    return {"PATH": "", "PYTHONPATH": str(Path(__file__).parents[3]), **variables}


def interrupted(server: Rotating, command: list[str], **variables: str) -> int:
    process = subprocess.Popen(
        command,
        env=environment(**variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert server.arrived.wait(20)
        process.send_signal(signal.SIGINT)
        return process.wait(20)
    finally:
        process.kill()
        process.wait()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to one process")
def test_ctrl_c_in_a_program(server: Rotating) -> None:
    """F-AUTH-5: the program ends by it, with the login stored."""
    code = interrupted(server, [sys.executable, "-c", PROGRAM, server.url, str(server.file)])
    assert code not in (0, None)
    assert server.stored_refresh_token() == "refresh-1"


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to one process")
def test_ctrl_c_on_the_command_line(server: Rotating) -> None:
    """F-AUTH-5, F-SHOW-3: the same for the command, which says 130."""
    command = [sys.executable, "-m", "mcpclient", "tools", server.url]
    code = interrupted(server, command, MCPCLIENT_CREDENTIALS=str(server.file))
    assert code == 130
    assert server.stored_refresh_token() == "refresh-1"
