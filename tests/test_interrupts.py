"""Ctrl-C at any moment: the program ends with it, in silence, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import gc
import inspect
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from random import Random
from types import FrameType
from typing import Any

import pytest

import mcpclient
from mcpclient import Client, McpError, ProcessExited, StopLadder
from mcpclient.cli.main import main
from mcpclient.client.connection.client_options import TransportName
from mcpclient.net.process.server_process import spawn
from tests.support.leaks import Resources, left_behind
from tests.support.subprocesses import TOP
from tests.tools.soak.lanes import SERVER, free_port

pytestmark = pytest.mark.needs_posix

PACKAGE = os.path.dirname(mcpclient.__file__)
INTERRUPTING = [sys.executable, "-S", "-E", str(TOP / "tests" / "servers" / "interrupting.py")]
STDIO = [sys.executable, "-S", "-E", str(TOP / "tests" / "servers" / "mcp_stdio.py")]
QUICK = StopLadder(close_input=0.3, terminate=0.3)


class CtrlC:
    """Presses Ctrl-C at the calls of functions of the library with these numbers."""

    def __init__(self, *numbers: int) -> None:
        self.calls = 0
        self._numbers = numbers

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        if event != "call" or PACKAGE not in frame.f_code.co_filename or in_finalizer(frame):
            return
        self.calls += 1
        if self.calls in self._numbers:
            signal.raise_signal(signal.SIGINT)


def in_finalizer(frame: FrameType | None) -> bool:
    """Whether a finalizer runs: what that raises, Python itself reports and forgets.

    A generator that is not needed any more is closed by one, and such a call looks like any other.
    """
    if frame is not None and frame.f_code.co_flags & inspect.CO_GENERATOR:
        return True
    while frame is not None:
        if frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


@contextmanager
def listening_for_noise() -> Iterator[list[str]]:
    """Hear what asyncio and Python say of lost exceptions, instead of the guard of all tests."""
    noise: list[str] = []

    def hear(record: logging.LogRecord) -> bool:
        if record.levelno < logging.ERROR:
            return True
        noise.append(record.getMessage())
        return False

    handler = logging.Handler(logging.ERROR)
    handler.emit = hear  # type: ignore[method-assign, assignment]
    asyncio_logger, own_logger = logging.getLogger("asyncio"), logging.getLogger("mcpclient")
    hook = sys.unraisablehook
    sys.unraisablehook = lambda facts: noise.append(f"{facts.exc_value!r} in {facts.object!r}")
    asyncio_logger.addFilter(hear)
    own_logger.addHandler(handler)
    try:
        yield noise
        gc.collect()
    finally:
        sys.unraisablehook = hook
        asyncio_logger.removeFilter(hear)
        own_logger.removeHandler(handler)


def interrupted(work: Callable[[], Coroutine[Any, Any, None]], *numbers: int) -> tuple[str, int]:
    """Run ``work`` as a program does; return how it ended and how many calls there were."""
    ctrl_c = CtrlC(*numbers)
    outcome = "returned"
    sys.setprofile(ctrl_c)
    try:
        asyncio.run(work())
    except KeyboardInterrupt:
        outcome = "interrupted"
    except RuntimeError as error:  # a second Ctrl-C may confuse asyncio.run itself
        assert "Event loop stopped before Future completed" in str(error)
        outcome = "interrupted"
    finally:
        sys.setprofile(None)
    gc.collect()
    return outcome, ctrl_c.calls


def sweep(
    work: Callable[[], Coroutine[Any, Any, None]], points: int, after: tuple[int, ...]
) -> None:
    """Interrupt ``work`` at so many points of it, some a second time so many calls later."""
    outcome, calls = interrupted(work)
    assert outcome == "returned"
    step = max(calls // points, 1)
    # A second Ctrl-C is an exception out of nowhere, even amid cleaning up; so is the first before
    # Python 3.11. What asyncio says then is not looked at.
    is_rude = bool(after) or sys.version_info < (3, 11)
    with listening_for_noise() as noise:
        for index, number in enumerate(range(1, calls - step, step)):
            before = Resources.held_now()
            again = [number + after[index % len(after)]] if after else []
            outcome, reached = interrupted(work, number, *again)
            where = f"interrupted at call {number} of {calls}, again at {again}"
            # Not every time the server's messages come in the same pieces.
            assert outcome == ("interrupted" if reached >= number else "returned"), where
            assert noise == [] or is_rude, where
            assert left_behind(before) == [], where


def test_while_a_server_process_is_started() -> None:
    """F-LIFE-5: also where Ctrl-C is an exception at any call, as in a loop that is run by hand."""
    number, outcome = 0, "interrupted"
    while outcome == "interrupted":
        number += 1
        before = Resources.held_now()
        loop = asyncio.new_event_loop()
        outcome = loop.run_until_complete(started(CtrlC(number)))
        loop.close()
        assert left_behind(before) == [], f"interrupted at call {number}"
    assert number > 10


async def started(ctrl_c: CtrlC) -> str:
    """Start a server and end it at once; return whether that was interrupted."""
    sys.setprofile(ctrl_c)
    try:
        server = await spawn(STDIO, NobodyListens())
    except KeyboardInterrupt:
        return "interrupted"
    finally:
        sys.setprofile(None)
    await server.stop()
    return "started"


class NobodyListens:
    """Collects the reports of a server process."""

    def data_received(self, data: bytes) -> None:
        """Ignore it."""

    def writing_resumed(self) -> None:
        """Ignore it."""

    def process_ended(self, error: ProcessExited) -> None:
        """Ignore it."""


def ask_user(request: object) -> dict[str, Any]:
    return {}


@pytest.mark.quick_rows(1)
@pytest.mark.parametrize("after", [(), (1, 4, 16, 40)], ids=["once", "twice"])
def test_with_a_server_process(after: tuple[int, ...]) -> None:
    """F-STD-2, F-LIFE-5: while connecting, calling, answering, listening, closing."""

    async def work() -> None:
        client = Client(
            STDIO, protocol_version="2025-11-25", elicitation=ask_user, stop_ladder=QUICK
        )
        async with client:
            async with client.listen(tools=True):
                await client.call_tool("progress", {"steps": 2}, on_progress=lambda progress: None)
            ask = {"method": "elicitation/create", "params": FORM}
            await client.call_tool("ask", ask)

    sweep(work, 3 if after else 5, after)


FORM = {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a server for all transports."""
    number = free_port(Random())
    words = [*SERVER, str(tmp_path_factory.mktemp("interrupts") / "ledger"), str(number)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        asyncio.run(until_it_serves(f"tcp://127.0.0.1:{number}"))
        yield number
        process.kill()


async def until_it_serves(url: str) -> None:
    for _ in range(1000):
        try:
            await (await Client(url, protocol_version="2025-11-25")).close()
            return
        except McpError:
            await asyncio.sleep(0.02)


@pytest.mark.quick_rows(2)
@pytest.mark.parametrize("after", [(), (1, 4, 16, 40)], ids=["once", "twice"])
@pytest.mark.parametrize(
    ("url", "version", "transport"),
    [
        ("http://127.0.0.1:{}/json", "2026-07-28", None),
        ("http://127.0.0.1:{}/sse", "2025-11-25", None),
        ("http://127.0.0.1:{}/legacy", "2025-11-25", "sse"),
        ("ws://127.0.0.1:{}/ws", "2025-11-25", None),
        ("tcp://127.0.0.1:{}", "2026-07-28", None),
    ],
    ids=["http", "http session", "legacy sse", "websocket", "socket"],
)
def test_over_the_network(
    url: str, version: str, transport: TransportName | None, after: tuple[int, ...], port: int
) -> None:
    """F-LIFE-5: in the same moments, over every other transport."""

    async def work() -> None:
        client = Client(
            url.format(port),
            protocol_version=version,
            transport=transport,
            elicitation=ask_user,
            listen_wait=0,
        )
        async with client:
            more = {"token": "t", "count": 2, "asks": "elicitation/create"}
            async with client.listen(tools=True):
                await client.call_tool(
                    "soak", {"act": "progress", **more}, on_progress=lambda progress: None
                )
            act = "ask" if "json" not in url else "echo"
            await client.call_tool("soak", {"act": act, **more})

    sweep(work, 3 if after else 5, after)


# On the command line, at every step of the protocol

UNCHECKED = ["call", "--unchecked"]
HANDSHAKE = ["--protocol-version", "2025-11-25"]
CALL = [*UNCHECKED, "progress", "steps=2", "--quiet", "--"]


@pytest.mark.quick_rows(3)
@pytest.mark.parametrize(
    ("words", "moments"),
    [
        (CALL, ["server/discover"]),
        (CALL, ["tools/call"]),
        (["tools", "--quiet", "--"], ["tools/list"]),
        ([*UNCHECKED, "never", "--quiet", "--"], ["tools/call", "notifications/cancelled"]),
        (["ping", *HANDSHAKE, "--quiet", "--"], ["initialize"]),
        (["ping", *HANDSHAKE, "--quiet", "--"], ["notifications/initialized"]),
        ([*UNCHECKED, "ask", "method=ping", *HANDSHAKE, "--quiet", "--"], ["answer"]),
        (["ping", "--quiet", "--"], ["end"]),
        (CALL, ["tools/call", "end"]),
        (CALL, ["tools/call", "end", "end"]),
    ],
    ids=lambda value: " ".join(value) if "--" not in value else value[0],
)
def test_the_command_line(
    words: list[str], moments: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    """F-SHOW-2, F-SHOW-3: exit code 130, and at most a word on stderr."""
    before = Resources.held_now()
    with listening_for_noise() as noise:
        assert main([*words, *INTERRUPTING, *moments]) == 130
        gc.collect()
    _, errors = capfd.readouterr()
    assert errors in ("", "cancelled\n")
    assert noise == []
    assert left_behind(before) == []
