"""Log in to protected servers, with the authorization servers of other projects, in both eras.

Every row begins with nothing stored. The user who says yes at once is the servers' own; the browser
is a scripted one, or chromium where it is installed. All of them discover, register and exchange a
code: F-AUTH-1 to F-AUTH-3.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Callable

import mcpclient
from conformance import peers, traces
from conformance.results import FAILED, LEFT_OUT, NOT_RUN, PASSED, STREAMABLE_HTTP, Row
from conformance.situation import redirect_of
from conformance.workspace import free_port, wait_until_it_listens
from mcpclient.net.login.terminal import Terminal
from mcpclient.protocol.negotiation import LATEST_HANDSHAKE, LATEST_STATELESS
from mcpclient.recording.transcript import read_transcripts

ENVIRONMENTS = ("mcp2", "fastmcp")
SERVERS = ("mcp2-authorized", "fastmcp-authorized")

# The newest of each era.
REVISIONS = (LATEST_HANDSHAKE, LATEST_STATELESS)

# How long tokens live, in seconds, and when they are due to be refreshed for certain.
TOKEN_SECONDS = 4
EXPIRED_AFTER = 3

# Real seconds for one row.
LIMIT = 90

PROCESSES = 4
CALLS = 10

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@dataclass(frozen=True)
class Place:
    """A protected server that runs, its authorization server, and where credentials are kept."""

    url: str
    issuer: str
    file: Path
    revision: str

    def auth(self, provider: mcpclient.AuthProvider) -> mcpclient.OAuth:
        return mcpclient.OAuth(local_development=True, provider=provider)

    @property
    def store(self) -> mcpclient.FileStore:
        return mcpclient.FileStore(self.file)

    def counts(self) -> dict[str, int]:
        """The number of requests that the authorization server got, by kind."""
        with urllib.request.urlopen(f"{self.issuer}/counts", timeout=10) as answer:
            counts: dict[str, int] = json.load(answer)
            return counts


def run() -> Iterator[Row]:
    """Log in to every server in every way, and yield one row for each."""
    for server in SERVERS:
        command = peers.command(server)
        for revision in REVISIONS:
            for name, work in WAYS.items():
                row = partial(
                    Row,
                    "authorized",
                    f"{server} {revision}: {name}",
                    revision=revision,
                    transport=STREAMABLE_HTTP,
                )
                if command is None:
                    yield row(NOT_RUN, peers.why_not(peers.SERVERS[server].environment))
                elif work is log_in_with_chromium and CHROMIUM is None:
                    yield row(LEFT_OUT, "chromium is not on PATH; a scripted browser did the same")
                else:
                    yield _met(row, command, revision, work)


def _met(
    row: partial[Row], command: list[str], revision: str, work: Callable[[Place], Awaitable[str]]
) -> Row:
    try:
        with _place(command, revision) as place:
            detail = asyncio.run(asyncio.wait_for(work(place), LIMIT))
    except Exception as error:
        return row(FAILED, f"{type(error).__name__}: {error}", checks=1)
    return row(PASSED, detail, checks=1, held=1)


@contextlib.contextmanager
def _place(command: list[str], revision: str) -> Iterator[Place]:
    port, auth_port = free_port(), free_port()
    environment = {"PORT": port, "AUTH_PORT": auth_port, "TOKEN_SECONDS": TOKEN_SECONDS}
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            command,
            cwd=peers.TOP,
            env={**os.environ, **{name: str(value) for name, value in environment.items()}},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_until_it_listens(process, port)
            is_apart = command[-2].endswith("authorized_mcp2")
            if is_apart:
                wait_until_it_listens(process, auth_port)
            issuer = f"http://127.0.0.1:{auth_port if is_apart else port}"
            file = Path(folder, "credentials.json")
            yield Place(f"http://127.0.0.1:{port}/mcp", issuer, file, revision)
        finally:
            process.kill()
            process.wait()


async def _call(place: Place, provider: mcpclient.AuthProvider, trace: str | None = None) -> None:
    trace = trace or traces.new("authorized")
    options: dict[str, Any] = {"auth": place.auth(provider), "trace": trace}
    async with mcpclient.connect(place.url, protocol_version=place.revision, **options) as client:
        _expect(client.protocol_version, place.revision)
        _expect((await client.call_tool("echo", {"text": "hello"})).text, "hello")


def _expect(actual: object, expected: object) -> None:
    if actual != expected:
        raise AssertionError(f"{actual!r} where {expected!r} is expected")


async def no_browser(url: str) -> bool:
    raise AssertionError("a browser was opened")


# The ways to log in


async def log_in_with_browser(place: Place) -> str:
    """F-AUTH-8, F-AUTH-9: a browser that comes back to the listener, and sees its page."""
    pages: list[str] = []

    def visit(url: str) -> None:
        with urllib.request.urlopen(url, timeout=10) as answer:
            pages.append(answer.read().decode())

    async def browse(url: str) -> bool:
        visits.append(asyncio.get_running_loop().run_in_executor(None, visit, url))
        return True

    visits: list[asyncio.Future[None]] = []
    await _call(place, mcpclient.BrowserLogin(place.store, open_browser=browse, terminal=_quiet()))
    await asyncio.gather(*visits)
    _expect("You are logged in" in pages[0], True)
    counts = place.counts()
    _expect((counts["authorize"], counts["authorization_code"]), (1, 1))
    if os.name == "posix":
        _expect(oct(place.file.stat().st_mode & 0o777), "0o600")
    return "one page, one code"


async def log_in_with_chromium(place: Place) -> str:
    """F-AUTH-8: a real browser that renders the page it comes back to."""
    browsers: list[asyncio.subprocess.Process] = []

    async def browse(url: str) -> bool:
        browsers.append(
            await asyncio.create_subprocess_exec(
                *(CHROMIUM or "", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"),
                f"--user-data-dir={place.file.parent / 'browser'}",
                url,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        )
        return True

    await _call(place, mcpclient.BrowserLogin(place.store, open_browser=browse, terminal=_quiet()))
    page, _ = await browsers[0].communicate()
    _expect(b"<h1>You are logged in</h1>" in page, True)
    return "the browser shows the page"


async def log_in_by_pasting(place: Place) -> str:
    """F-AUTH-8: no browser; the address is shown, and where it leads is pasted."""

    class Pasting(Terminal):
        is_interactive = True

        def say(self, text: str) -> None:
            self.shown = text

        async def read_line(self) -> str:
            url = next(line.strip() for line in self.shown.splitlines() if "://" in line)
            return await asyncio.get_running_loop().run_in_executor(None, redirect_of, url)

    async def none(url: str) -> bool:
        return False

    await _call(place, mcpclient.BrowserLogin(place.store, open_browser=none, terminal=Pasting()))
    return "the pasted address is taken"


async def log_in_in_two_steps(place: Place) -> str:
    """F-AUTH-8: no caller waits; another object with the same store goes on, and only once."""
    auth = place.auth(mcpclient.TwoStepLogin(place.store))
    try:
        await _call(place, mcpclient.TwoStepLogin(place.store))
        raise AssertionError("no login was asked for")
    except mcpclient.AuthorizationRequired as required:
        loop = asyncio.get_running_loop()
        callback = await loop.run_in_executor(None, redirect_of, required.url)
    await mcpclient.finish_auth(place.url, callback, auth=auth)
    await _call(place, mcpclient.BrowserLogin(place.store, open_browser=no_browser))
    try:
        await mcpclient.finish_auth(place.url, callback, auth=auth)
    except mcpclient.AuthError:
        return "the second step works once"
    raise AssertionError("a code was taken twice")


async def refresh_once(place: Place) -> str:
    """F-AUTH-5: several processes with many calls each, when the token has expired; one refresh."""
    await log_in_with_browser(place)
    await asyncio.sleep(EXPIRED_AFTER)
    begun = time.time()
    processes = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", __name__, place.url, str(place.file), place.revision),
            cwd=peers.TOP,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for _ in range(PROCESSES)
    ]
    for process in processes:
        output, _ = await process.communicate()
        _expect(output.decode().strip(), f"{CALLS} answers")
    counts = place.counts()
    _expect((counts["authorize"], counts.get("refresh_token")), (1, 1))
    return f"{PROCESSES} processes, {PROCESSES * CALLS} calls, {time.time() - begun:.1f} s"


async def renew_early(place: Place) -> str:
    """F-AUTH-5: a token that is about to expire is renewed before a server has refused it."""
    await log_in_with_browser(place)
    await asyncio.sleep(EXPIRED_AFTER)
    trace = traces.new("authorized") or str(place.file.with_name("trace.jsonl"))
    await _call(place, mcpclient.BrowserLogin(place.store, open_browser=no_browser), trace)
    _expect("grant_type=refresh_token" in _first_request(trace), True)
    return "no request with a token that expires"


def _first_request(trace: str) -> str:
    with open(trace, encoding="utf-8") as lines:
        records = read_transcripts(lines)[0].records
    return str(next(each["text"] for each in records if "http" in each))


async def _worker(url: str, file: str, revision: str) -> None:
    """The work of each process, without a browser."""
    provider = mcpclient.BrowserLogin(mcpclient.FileStore(file), open_browser=no_browser)
    auth = mcpclient.OAuth(local_development=True, provider=provider)
    async with mcpclient.connect(url, auth=auth, protocol_version=revision) as client:
        calls = (client.call_tool("echo", {"text": str(number)}) for number in range(CALLS))
        answers = [result.text for result in await asyncio.gather(*calls)]
    _expect(answers, [str(number) for number in range(CALLS)])
    print(f"{len(answers)} answers")


def _quiet() -> Terminal:
    """A terminal without a user."""
    return Terminal(open(os.devnull), open(os.devnull, "w"))


WAYS: dict[str, Callable[[Place], Awaitable[str]]] = {
    "browser": log_in_with_browser,
    "chromium": log_in_with_chromium,
    "pasted address": log_in_by_pasting,
    "two steps": log_in_in_two_steps,
    "one refresh for all": refresh_once,
    "renewed early": renew_early,
}


if __name__ == "__main__":
    asyncio.run(_worker(*sys.argv[1:4]))
