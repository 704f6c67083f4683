"""The demo server in memory and as a program: F-PACK-4."""

from __future__ import annotations

import asyncio
import io
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from mcpclient.testing import demo_server
from mcpclient.testing.demo_server import STATELESS_VERSION, DemoServer

REVISIONS = [*demo_server.HANDSHAKE_VERSIONS, STATELESS_VERSION]


def void(handle: object) -> None:
    """Return nothing."""


class InMemory(mcpclient.Transport):
    """A demo server in this process."""

    name = "in-memory"

    async def open(self, receiver: mcpclient.Receiver) -> None:
        loop = asyncio.get_running_loop()
        self.server = DemoServer(
            lambda message: void(loop.call_soon_threadsafe(receiver.message_received, message))
        )

    def send(self, outgoing: object) -> None:
        self.server.receive(outgoing.message)  # type: ignore[attr-defined]

    async def close(self) -> None:
        self.server.stop()


@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_client_gets_everything_it_offers(revision: str) -> None:
    """F-PACK-4: in every revision."""
    async with mcpclient.connect(InMemory(), protocol_version=revision) as client:
        assert client.server_info.name == "demo-server"
        names = [tool.name for tool in await client.list_tools()]
        assert names == ["echo", "add", "count", "fail"]
        assert (await client.call_tool("add", {"a": 19, "b": 23})).data == {"sum": 42}
        assert (await client.call_tool("echo", {"message": "hi"})).text == "hi"
        steps: list[float] = []
        counted = await client.call_tool(
            *("count", {"to": 2, "seconds": 0}),
            on_progress=lambda progress: steps.append(progress.progress),
        )
        assert (counted.text, steps) == ("1 2", [1, 2])
        failed = await client.call_tool("fail", {"reason": "no paper"})
        assert (failed.is_error, failed.text) == (True, "no paper")
        wrong = await client.call_tool("add", {"a": "1", "b": True})
        assert (wrong.is_error, wrong.text) == (True, "a must be a number")
        assert (await client.read_resource("demo://greeting/Ada")).text == "Hello, Ada!\n"
        assert len((await client.read_resource("demo://pixel")).data) == 70
        assert len(await client.list_resources()) == 2
        assert len(await client.list_resource_templates()) == 1
        (prompt,) = await client.list_prompts()
        filled = await client.get_prompt(prompt.name, {"topic": "rain", "mood": "calm"})
        assert filled.text == "Write a haiku about rain in a calm mood."
        completed = await client.complete(prompt, "mood", "c")
        assert list(completed.values) == ["calm", "cheerful"]
        for refused in (
            client.call_tool("no-such-tool"),
            client.read_resource("demo://nowhere"),
            client.get_prompt("haiku", {}),
            client.request("demo/unknown"),
        ):
            with pytest.raises(mcpclient.PeerError):
                await refused


def answer_to(**message: object) -> dict[str, Any]:
    sent: list[dict[str, Any]] = []
    DemoServer(sent.append).receive({"jsonrpc": "2.0", "id": 1, **message})
    (only,) = sent
    return only


def test_a_request_before_the_handshake_is_refused() -> None:
    assert answer_to(method="tools/list")["error"]["code"] == -32600
    assert answer_to(method="ping")["result"] == {}


def test_an_unknown_revision_is_refused_with_those_it_speaks() -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    error = answer_to(method="tools/list", params={"_meta": meta})["error"]
    assert (error["code"], error["data"]["supported"][0]) == (-32022, STATELESS_VERSION)


def test_a_cancelled_call_gets_no_answer() -> None:
    """F-PACK-4: and it ends at once."""
    sent: list[dict[str, Any]] = []
    server = DemoServer(sent.append)
    server.receive({"id": 0, "method": "initialize", "params": {}})
    call = {"name": "count", "arguments": {"to": 1, "seconds": 3600}}
    before = set(threading.enumerate())
    server.receive({"id": 1, "method": "tools/call", "params": call})
    (thread,) = set(threading.enumerate()) - before
    server.receive({"method": "notifications/cancelled", "params": {"requestId": 1}})
    thread.join(30)
    assert [message["id"] for message in sent] == [0]


def test_it_is_a_program(tmp_path: Path) -> None:
    """F-PACK-4: with the package installed, ``python3 -m`` starts it from any folder."""
    package = Path(mcpclient.__file__).parent
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", demo_server.__name__],
        input=b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(package.parent)},
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert re.fullmatch(rb'\{"jsonrpc": "2.0", "id": 1, "result": \{\}\}\r?\n', done.stdout)


def test_its_loop_reads_lines_until_stdin_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'))
    stdout = io.StringIO()
    monkeypatch.setattr(sys, "stdin", stdin)
    monkeypatch.setattr(sys, "stdout", stdout)
    demo_server.main()
    assert stdout.getvalue() == '{"jsonrpc": "2.0", "id": 1, "result": {}}\n'
