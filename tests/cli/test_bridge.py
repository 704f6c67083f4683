"""``mcpclient bridge`` as hosts use it: a process of its own, in front of another."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable

import pytest

from mcpclient import Client
from tests.support.subprocesses import TOP

pytestmark = pytest.mark.needs_posix

DEMO = [sys.executable, str(TOP / "mcpclient" / "testing" / "demo_server.py")]
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x"}},
}


def bridge(*words: str, prelude: str = "pass") -> list[str]:
    """Return the command of a bridge; ``prelude`` is run before it."""
    source = f"import sys; sys.path.insert(0, {str(TOP)!r}); {prelude}; "
    source += "from mcpclient.__main__ import main; sys.exit(main())"
    return [sys.executable, "-c", source, "bridge", *words]


def talk(command: list[str], *messages: Any, **options: Any) -> tuple[list[Any], str]:
    """Write messages to a bridge and end its input; return its stdout and stderr."""
    given = "".join(f"{json.dumps(message)}\n" for message in messages)
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, timeout=60, check=False, **options
    )
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


@contextmanager
def hosting(
    command: list[str], errors: list[str]
) -> Iterator[tuple[subprocess.Popen[str], Callable[[Any], Any]]]:
    """A host of a bridge: the process, and a function that asks and returns the answer.

    ``errors`` gets the bridge's stderr when its input has ended.
    """
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        sending, answers = process.stdin, process.stdout

        def ask(message: Any) -> Any:
            sending.write(json.dumps(message) + "\n")
            sending.flush()
            return json.loads(answers.readline())

        yield process, ask
        sending.close()
        assert answers.read() == ""
        errors.append(process.stderr.read())


@pytest.mark.slow
def test_a_server_that_cannot_be_reached_is_an_error_for_the_host() -> None:
    """F-BRIDGE-1: with the reason, as its user needs it."""
    with hosting(bridge("tcp://127.0.0.1:1"), []) as (_, ask):
        assert "127.0.0.1:1" in ask(INITIALIZE)["error"]["message"]


@pytest.mark.quick_rows(1)
@pytest.mark.parametrize("version", [None, "2024-11-05", "2025-11-25", "2026-07-28"])
def test_a_client_finds_the_same_server_behind_it(version: str | None) -> None:
    """F-BRIDGE-1: tools, results, progress, resources and prompts come from the server."""

    async def seen(command: list[str]) -> list[Any]:
        steps: list[float] = []
        async with Client(command, protocol_version=version) as client:
            return [
                client.protocol_version,
                client.server_info.raw,
                client.capabilities,
                [tool.raw for tool in await client.list_tools()],
                (await client.call_tool("add", {"a": 1, "b": 2})).raw,
                (
                    await client.call_tool(
                        "count",
                        {"to": 2, "seconds": 0},
                        on_progress=lambda each: steps.append(each.progress),
                    )
                ).raw,
                steps,
                [each.raw for each in await client.list_resources()],
                (await client.get_prompt("haiku", {"topic": "x"})).raw,
            ]

    assert asyncio.run(seen(bridge("--", *DEMO))) == asyncio.run(seen(DEMO))


@pytest.mark.slow
def test_nothing_but_messages_is_written_to_stdout(tmp_path: Path) -> None:
    """F-BRIDGE-1: what is printed, here or by a child that inherits stdout, goes to stderr."""
    noisy = tmp_path / "noisy.py"
    noisy.write_text(Path(DEMO[1]).read_text().replace("\nTYPE_", "\nprint('a banner')\nTYPE_", 1))
    prelude = (
        "import mcpclient.client.client as c, os; old = c.Client.connect; "
        "c.Client.connect = lambda self: (print('printed'), os.write(1, b'written\\n'), "
        "os.system('echo started'), old(self))[-1]"
    )
    command = bridge("--", sys.executable, str(noisy), prelude=prelude)
    errors: list[str] = []
    with hosting(command, errors) as (process, ask):
        assert ask(INITIALIZE)["result"]["protocolVersion"] == "2025-11-25"
    for said in ("printed", "written", "started", "a banner"):
        assert said in errors[0]
    assert process.returncode == 0


@pytest.mark.slow
async def test_filters_of_an_entry_hold_for_the_host(tmp_path: Path) -> None:
    """F-BRIDGE-1: a tool that the entry leaves out is neither listed nor called."""
    entry = {"command": DEMO[0], "args": DEMO[1:], "excludeTools": ["add"]}
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"demo": entry}}))

    async with Client(bridge("--config", str(file), "demo")) as client:
        assert [tool.name for tool in await client.list_tools()] == ["echo", "count", "fail"]
        refused = await client.call_tool("add", {"a": 1, "b": 2})
        assert refused.is_error
        assert "leaves it out" in str(refused.text)
        assert (await client.call_tool("echo", {"message": "hi"})).text == "hi"


@pytest.mark.slow
def test_a_failure_inside_is_told_on_stderr() -> None:
    """F-BRIDGE-1: tracebacks and warnings, too; the host gets an error, and the next answer."""
    prelude = (
        "import mcpclient.bridging.bridge as b, warnings; old = b.Bridge._initialize; "
        "b.Bridge._initialize = lambda self, params: (warnings.warn('odd'), "
        "old(self, params) if self.__dict__.setdefault('tried', []) else "
        "(self.tried.append(1), 1 / 0))[-1]"
    )
    again = {**INITIALIZE, "id": 2}
    errors: list[str] = []
    with hosting(bridge("--", *DEMO, prelude=prelude), errors) as (_, ask):
        for message, member in ((INITIALIZE, "error"), (again, "result")):
            answer = ask(message)
            assert (answer["id"], member in answer) == (message["id"], True)
    assert "ZeroDivisionError" in errors[0]
    assert "odd" in errors[0]


BLOB_SERVER = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "x"}}
    if message["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": "x" * message["params"].get("size", 1)}]}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs /proc of Linux")
@pytest.mark.parametrize("is_result", [True, False])
def test_a_large_message_takes_three_times_its_size(is_result: bool) -> None:
    """F-BRIDGE-1: the line, its text while that is read, and the values in it."""
    size = 60 * 1024 * 1024
    command = bridge("--", sys.executable, "-c", BLOB_SERVER)
    with hosting(command, []) as (process, ask):

        def memory(field: str) -> int:
            status = Path(f"/proc/{process.pid}/status").read_text()
            return 1024 * int(status.partition(f"{field}:")[2].split()[0])

        ask(INITIALIZE)
        before = memory("VmRSS")
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call"}
        params: Any = {"size": size} if is_result else {"text": "x" * size}
        answer = ask({**call, "params": params})
        assert (len(answer["result"]["content"][0]["text"]) == size) == is_result
        assert memory("VmHWM") - before < 3.25 * size
