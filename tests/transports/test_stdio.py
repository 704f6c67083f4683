"""stdio against server processes that misbehave."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from mcpclient.display import shown_words
from mcpclient.errors import CommandNotFound, ConnectionLost, ProcessExited
from mcpclient.net.process.stopping import StopLadder
from mcpclient.transports.base import Abandoned
from mcpclient.transports.stdio import StdioTransport
from tests.contract.transport_contract import ERA, call, post, said
from tests.support.inbox import Inbox

SERVER = [
    sys.executable,
    "-S",
    "-E",
    str(Path(__file__).parent.parent / "servers" / "mcp_stdio.py"),
]
# No wait of these tests is for its own sake; each bound only keeps a broken test from hanging.
QUICK = StopLadder(close_input=0.3, terminate=0.3)


@asynccontextmanager
async def opened(*arguments: str, **options: Any) -> AsyncIterator[tuple[StdioTransport, Inbox]]:
    """An open transport to the test server."""
    transport = StdioTransport([*SERVER, *arguments], ladder=QUICK, stderr="discard", **options)
    inbox = Inbox()
    await transport.open(inbox)
    try:
        yield transport, inbox
    finally:
        await asyncio.wait_for(transport.close(), 5)


def hexed(data: bytes) -> str:
    return data.hex()


SHOWING = (
    "import json, os, signal, sys\n"
    "signal.signal(signal.SIGINT, lambda *_: (os.write(2, b'interrupted\\n'), os._exit(0)))\n"
    "sys.stderr.write('ready\\n')\n"
    "sys.stderr.flush()\n"
    "params = {'arguments': sys.argv[1:], 'folder': os.getcwd(), 'environment': dict(os.environ)}\n"
    "print(json.dumps({'method': 'vendor/shown', 'params': params}), flush=True)\n"
    "while True: signal.pause()"
)


@pytest.mark.needs_posix
async def test_the_options_reach_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-STD-1, F-STD-3, F-STD-4: arguments, environment, folder, stderr, and how it is stopped."""
    monkeypatch.setenv("API_TOKEN", "ours")
    folder = tmp_path.resolve()
    lines: list[str] = []
    heard = asyncio.Event()

    def keep(line: str) -> None:
        lines.append(line)
        heard.set()

    transport = StdioTransport(
        [sys.executable, "-S", "-E", "-c", SHOWING, "an argument", "another"],
        env={"KEY": "value"},
        inherit_env="none",
        cwd=folder,
        stderr=keep,
        ladder=StopLadder(interrupt=60),
    )
    inbox = Inbox()
    await transport.open(inbox)
    await inbox.until(lambda: inbox.messages)
    await asyncio.wait_for(heard.wait(), 20)
    await asyncio.wait_for(transport.close(), 20)
    shown = inbox.messages[0]["params"]
    assert shown["arguments"] == ["an argument", "another"]
    assert shown["folder"] == str(folder)
    assert shown["environment"]["KEY"] == "value"
    assert not {"API_TOKEN", "PATH"} & shown["environment"].keys()
    assert lines == ["ready", "interrupted"] and transport.stderr_tail == "ready\ninterrupted\n"


@pytest.mark.needs_posix
async def test_what_is_ours_is_not_inherited_unless_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F-STD-1: by a client of a command, or by a transport."""
    monkeypatch.setenv("API_TOKEN", "ours")
    shows = "import os, sys; sys.exit(' '.join(sorted({'PATH', 'API_TOKEN'} & {*os.environ})))"
    command = [sys.executable, "-S", "-E", "-c", shows]
    for target in (command, StdioTransport(command)):
        with pytest.raises(ProcessExited) as caught:
            await mcpclient.connect(target, stderr="discard")
        assert caught.value.stderr.strip() == "PATH"


async def test_much_noise_is_reported_three_times_under_the_configured_name(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """F-WIRE-3: the first three lines, of which the last says so."""
    noise = b"".join(b"line %d\n" % number for number in range(250))
    async with opened("--hello", hexed(noise), peer="weather") as (transport, inbox):
        assert await said(transport, inbox, call(1, "echo", text="x")) == "x"
    lines = [record.getMessage() for record in caplog.records]
    assert lines == [
        f"weather: skipped a line that is not a JSON-RPC message: 'line {n}'{last}"
        for n, last in enumerate(["", "", "; more are not reported"])
    ]


async def test_a_server_that_dies_says_why() -> None:
    """F-LIFE-7: within a second, with its exit code and last stderr output."""
    async with opened() as (transport, inbox):
        await post(transport, call(1, "never"))
        began = time.monotonic()
        await post(transport, call(2, "die", code=3, stderr="cannot open database\n"))
        await inbox.until(lambda: inbox.lost)
        assert time.monotonic() - began < 10
        (error,) = inbox.lost
        assert isinstance(error, ProcessExited)
        assert error.exit_code == 3
        assert error.stderr == "cannot open database\n"
        assert error.command == shown_words(transport.command)
        with pytest.raises(ProcessExited) as first:
            transport.send(call(3, "echo", text="x"))
        with pytest.raises(ProcessExited) as second:
            transport.send(call(4, "echo", text="x"))
        assert str(first.value) == str(second.value) == str(error)
        assert first.value is not second.value, "or their tracebacks would grow together"


async def test_a_command_that_does_not_exist_is_named() -> None:
    """F-STD-7"""
    transport = StdioTransport(["no-such-mcp-server", "--flag"])
    with pytest.raises(CommandNotFound, match="no-such-mcp-server"):
        await transport.open(Inbox())
    assert transport.description == "no-such-mcp-server"
    assert transport.process_id is None
    with pytest.raises(ConnectionLost):
        transport.send(call(1, "echo", text="x"))
    await transport.close()


async def test_what_a_server_wrote_is_told_without_the_values_of_its_variables() -> None:
    """F-AUTH-12: neither of its stderr nor of its stdout; what was kept is as it was."""
    program = (
        "import os, sys; key = os.environ['API_KEY']\n"
        "print('key', key); sys.exit(key + ' refused on port ' + os.environ['PORT'])"
    )
    transport = StdioTransport(
        [sys.executable, "-S", "-E", "-c", program],
        env={"API_KEY": "s3cret-value", "PORT": "80"},
        stderr="discard",
    )
    inbox = Inbox()
    await transport.open(inbox)
    await inbox.until(lambda: inbox.lost)
    (error,) = inbox.lost
    assert isinstance(error, ProcessExited)
    assert error.stderr.strip() == "${API_KEY} refused on port 80"
    assert error.output == "key ${API_KEY}"
    assert transport.stderr_tail.strip() == "s3cret-value refused on port 80"
    await transport.close()


async def test_a_server_that_does_not_read_stalls_only_its_own_calls() -> None:
    """F-STD-5: what was not sent is taken back, and closing is bounded."""
    async with opened() as (transport, _):
        await post(transport, call(1, "deaf"))
        await asyncio.sleep(0)
        large = call(2, "echo", text="x" * 1_000_000)
        await post(transport, large)
        await asyncio.sleep(0)
        queued = call(3, "echo", text="y")
        await post(transport, queued)
        await asyncio.sleep(0)
        assert transport.abandon(queued) is Abandoned.NEVER_SENT
        assert transport.abandon(queued) is Abandoned.STILL_OPEN
        assert transport.abandon(large) is Abandoned.STILL_OPEN
        await post(transport, call(4, "echo", text="z"))


async def test_what_waited_is_written_when_the_server_reads_again(tmp_path: Path) -> None:
    """F-STD-5"""
    gate = tmp_path / "gate"
    async with opened() as (transport, inbox):
        await post(transport, call(1, "pause", until=str(gate)))
        await inbox.until(lambda: inbox.notifications() == ["paused"])
        for number in range(2, 12):
            await post(transport, call(number, "echo", text=f"{number} " * 20_000))
            await asyncio.sleep(0)
        await asyncio.get_running_loop().run_in_executor(None, gate.touch)
        for number in range(2, 12):
            assert await inbox.text_of(number) == f"{number} " * 20_000


async def test_closing_writes_what_is_queued(tmp_path: Path) -> None:
    """F-LIFE-6: what was sent in the same turn of the loop still leaves."""
    log = tmp_path / "log"
    async with opened("--log", str(log)) as (transport, inbox):
        await said(
            transport, inbox, call(1, "echo", text="x")
        )  # it has started, which closing does not wait for
        for name in ("one", "two", "three"):
            await post(transport, ERA.notification(name, None))
        await transport.close()
        assert log.read_text("utf-8").split("\n")[2:6] == ["one", "two", "three", "end of input"]


async def test_messages_sent_while_it_closes_are_refused_or_dropped() -> None:
    """F-LIFE-6: never an exception in the event loop."""
    async with opened() as (transport, _):
        note = ERA.notification("note", None)
        await post(transport, note)
        closing = asyncio.ensure_future(transport.close())
        for _ in range(4):
            with suppress(ConnectionLost):
                await post(transport, note)
            await asyncio.sleep(0)
        await closing
        await asyncio.sleep(0)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the side that writes")
async def test_it_knows_whether_the_server_has_read() -> None:
    """F-API-27: not before it is open, and not once the server has answered."""
    pausing = [sys.executable, "-S", "-E", "-c", "import signal; signal.pause()"]
    transport = StdioTransport(pausing, ladder=QUICK, stderr="discard")
    assert not transport.has_unread
    await transport.open(Inbox())
    assert not transport.has_unread
    await post(transport, call(1, "echo", text="x"))
    assert transport.has_unread
    await asyncio.wait_for(transport.close(), 5)
    assert not transport.has_unread
    async with opened() as (transport, inbox):
        assert await said(transport, inbox, call(1, "echo", text="x")) == "x"
        assert not transport.has_unread
