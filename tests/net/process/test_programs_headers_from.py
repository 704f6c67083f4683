"""A program that prints headers: bounded, timed, run once for many, and never shown."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from mcpclient import HeadersFrom
from mcpclient.errors import ConnectFailed, HttpError, UsageError
from tests.net.websocket_peer import Peer, websocket_server
from tests.support.http_server import Answer, Handler, HttpServer, Request
from tests.support.mcp_http import LegacyEndpoint, StreamableEndpoint
from tests.support.mcp_server import McpServer

COUNTING = """
import json, pathlib, sys
ran = pathlib.Path(sys.argv[1]).open("a+")
ran.write("x"); ran.flush(); ran.seek(0)
print(json.dumps({"Authorization": "Bearer " + str(len(ran.read())), "X-Url": sys.argv[2]}))
"""


def python(source: str, *words: str, **options: Any) -> HeadersFrom:
    return HeadersFrom([sys.executable, "-c", source, *words], **options)


def counting(folder: Path, **options: Any) -> HeadersFrom:
    """A program whose token says how often it ran."""
    return python(COUNTING, str(folder / "ran"), "{url}", **options)


def runs(folder: Path) -> int:
    return len((folder / "ran").read_text())


def printed(made: HeadersFrom) -> Mapping[str, str]:
    async def main() -> Mapping[str, str]:
        return await made()

    return asyncio.run(main())


@pytest.mark.parametrize("command", ["corp-token", [], [1]])
def test_a_command_is_a_list_of_strings(command: Any) -> None:
    """F-HTTP-15: no shell reads a string."""
    with pytest.raises(UsageError, match="must be a list of strings"):
        HeadersFrom(command)


def test_nothing_of_it_is_shown(tmp_path: Path) -> None:
    """F-AUTH-12, F-HTTP-15: neither its arguments nor its output."""
    made = HeadersFrom(["corp-token", "--password", "SECRET"])
    assert repr(made) == "HeadersFrom(['corp-token', …])"
    kept = python('print(\'{"a": "SECRET"}\')')
    printed(kept)
    assert "SECRET" not in repr(kept)


@pytest.mark.slow
def test_several_requests_wait_for_one_run(tmp_path: Path) -> None:
    """F-HTTP-15: cancelling one of them leaves the others; after ``expires`` it runs again."""
    made = counting(tmp_path, expires=1000).for_url("https://x/")
    brief = counting(tmp_path, expires=0)

    async def main() -> None:
        first, second = asyncio.ensure_future(made()), asyncio.ensure_future(made())
        await asyncio.sleep(0)
        first.cancel()
        for found in await asyncio.gather(second, made()):
            assert found == {"Authorization": "Bearer 1", "X-Url": "https://x/"}
        assert runs(tmp_path) == 1
        await asyncio.gather(brief(), brief())
        assert runs(tmp_path) == 2
        await brief()
        assert runs(tmp_path) == 3

    asyncio.run(main())
    assert printed(made)["Authorization"] == "Bearer 1"  # in another loop, too


@pytest.mark.slow
def test_a_run_of_a_loop_that_has_ended_is_forgotten(tmp_path: Path) -> None:
    """F-HTTP-15: so is one that failed."""
    made = counting(tmp_path)
    loop = asyncio.new_event_loop()
    asking = loop.create_task(made())
    loop.run_until_complete(asyncio.sleep(0, loop.create_task(asyncio.sleep(0))))
    assert printed(made)["X-Url"] == "{url}"
    asking.cancel()
    loop.run_until_complete(asyncio.wait(asyncio.all_tasks(loop)))
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
    failing = python("import os, sys; os.mkdir(sys.argv[1]); sys.exit(1)", str(tmp_path / "made"))
    with pytest.raises(ConnectFailed):
        printed(failing)
    failing.words[2] = "print('{}')"
    assert printed(failing) == {}


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import sys; sys.exit('SECRET')", "exited with code 1"),
        ("print('SECRET')", "JSON object of strings"),
        ("print('[]')", "JSON object of strings"),
        ("print('{\"SECRET\": 1}')", "JSON object of strings"),
        ("print('SECRET' * 100000)", "more than 65536 bytes"),
        ("import sys\nwhile True: sys.stdout.write('SECRET')", "more than 65536 bytes"),
    ],
)
def test_what_is_wrong_is_said_without_its_output(
    source: str, reason: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """F-HTTP-15, F-AUTH-12: nothing that it prints, on stdout or stderr, is shown or logged."""
    with caplog.at_level(logging.DEBUG), pytest.raises(ConnectFailed, match=reason) as caught:
        printed(python(source).for_url("https://x/"))
    error = caught.value
    assert "SECRET" not in f"{error} {error!r} {caplog.text} {capfd.readouterr()}"
    assert str(error).startswith("cannot connect to https://x/: the command for its headers, ")
    assert error.hint.startswith("Run it in a terminal: it has to print a JSON object")


@pytest.mark.skipif(os.name != "posix", reason="its processes are those of sh")
def test_its_time_is_limited() -> None:
    """F-HTTP-15: then it is killed with all that it started."""
    made = HeadersFrom(["/bin/sh", "-c", "sleep 1000 & sleep 1000"], timeout=0.05)
    with pytest.raises(ConnectFailed, match=r"did not end within 0\.05 seconds"):
        printed(made)


def test_headers_beside_it_stand_for_printed_ones_of_their_names(tmp_path: Path) -> None:
    """F-HTTP-15: also where the same program has been run without them."""
    made = counting(tmp_path)
    assert printed(made.for_url("https://x/"))["Authorization"] == "Bearer 1"
    beside = made.with_headers({"authorization": "Bearer own"}).for_url("https://x/")
    assert printed(beside) == {"authorization": "Bearer own", "X-Url": "https://x/"}


def test_one_that_cannot_be_started(tmp_path: Path) -> None:
    """F-HTTP-15"""
    with pytest.raises(ConnectFailed, match="cannot be started"):
        printed(HeadersFrom([str(tmp_path / "gone")]))


class Guarded:
    """Routes that only one token opens. ``seen``: the headers of every request."""

    def __init__(self, routes: Mapping[str, Handler], token: str) -> None:
        self.token = f"Bearer {token}"
        self.seen: list[Mapping[str, str]] = []
        self.routes = {line: self._guard(handler) for line, handler in routes.items()}

    def _guard(self, handler: Handler) -> Handler:
        async def guarded(request: Request, answer: Answer) -> None:
            self.seen.append(request.headers)
            if request.headers.get("authorization") == self.token:
                await handler(request, answer)
            else:
                answer.full(401, {"WWW-Authenticate": "Bearer"})

        return guarded


@pytest.mark.quick_rows(1)
@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_it_is_asked_again_after_a_401(tmp_path: Path, transport: Any) -> None:
    """F-HTTP-15: once for all calls that were refused; a call's own headers stay."""
    mcp = McpServer()
    endpoint = StreamableEndpoint(mcp) if transport == "http" else LegacyEndpoint(mcp)
    guarded = Guarded(endpoint.routes, "2")
    async with HttpServer(guarded.routes) as server:
        url = str(server.url("/mcp"))
        options = {"headers": counting(tmp_path), "transport": transport}
        async with mcpclient.connect(url, **options) as client:
            assert runs(tmp_path) == 2
            guarded.token = "Bearer 3"
            guarded.seen.clear()
            calls = [client.call_tool("echo", {"text": str(n)}) for n in range(5)]
            assert [done.text for done in await asyncio.gather(*calls)] == [*"01234"]
            assert runs(tmp_path) == 3
            await client.call_tool("echo", {"text": "x"}, headers={"X-URL": "own"})
            assert guarded.seen[-1]["x-url"] == "own"
            assert guarded.seen[0]["x-url"] == url
            guarded.token = "Bearer 4"
            await client.call_tool("echo", {"text": "x"}, headers={"X-URL": "own"})
            assert guarded.seen[-1]["x-url"] == "own"


async def test_headers_that_stay_the_same_are_refused_for_good(tmp_path: Path) -> None:
    """F-HTTP-15: a request is sent once, and the program runs twice at most."""
    guarded = Guarded(StreamableEndpoint(McpServer()).routes, "right")
    async with HttpServer(guarded.routes) as server:
        made = python(
            "import json, sys; open(sys.argv[1], 'a').write('x'); print('{\"A\": \"b\"}')",
            str(tmp_path / "ran"),
        )
        with pytest.raises(HttpError, match="401"):
            async with mcpclient.connect(str(server.url("/mcp")), headers=made, transport="http"):
                pass
    assert len(guarded.seen) == 1
    assert runs(tmp_path) == 2


async def test_headers_that_change_are_tried_once_more(tmp_path: Path) -> None:
    """F-HTTP-15: a server that refuses everything does not have the program run for ever."""
    guarded = Guarded(StreamableEndpoint(McpServer()).routes, "never")
    async with HttpServer(guarded.routes) as server:
        options: dict[str, Any] = {"headers": counting(tmp_path), "transport": "http"}
        with pytest.raises(HttpError, match="401"):
            async with mcpclient.connect(str(server.url("/mcp")), **options):
                pass
    assert len(guarded.seen) == runs(tmp_path) == 2


@pytest.mark.slow
async def test_a_websocket_asks_again_too(tmp_path: Path) -> None:
    """F-HTTP-15"""
    requests: list[str] = []

    async def script(peer: Peer) -> None:
        if not requests:
            await peer.read_request()
            peer.writer.write(b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n")
        else:
            await peer.accept("Sec-WebSocket-Protocol: mcp")
            peer.send(1, json.dumps({"jsonrpc": "2.0", "id": 1}).encode())
        requests.append(peer.request)

    async with websocket_server(script) as url:
        with pytest.raises(mcpclient.McpError):
            async with mcpclient.connect(url, headers=counting(tmp_path)):
                pass
    assert "Authorization: Bearer 1\r\n" in requests[0]
    assert "Authorization: Bearer 2\r\n" in requests[1]
