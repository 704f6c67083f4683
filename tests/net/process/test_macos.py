"""As on macOS: no descriptors of processes, no ``/proc``, no epoll, no signals to zombies.

macOS itself has kqueue, which is nowhere else; asyncio's contract is the same for every selector.
"""

from __future__ import annotations

import asyncio
import os
import selectors
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from mcpclient import Client, ProcessExited
from mcpclient.net.process.server_process import spawn
from mcpclient.net.process.stopping import ProcessGroup
from tests.net.process_helpers import ECHO, Recorder, is_alive, python, tree, wait_until
from tests.support.subprocesses import TOP

pytestmark = pytest.mark.needs_posix

DEMO = str(TOP / "mcpclient" / "testing" / "demo_server.py")


def signal_as_macos_does(killpg: Callable[[int, int], None]) -> Callable[[int, int], None]:
    """Return a `os.killpg` that says "not permitted" of a group without processes."""

    def signal(group: int, number: int) -> None:
        try:
            killpg(group, number)
        except ProcessLookupError:
            raise PermissionError("Operation not permitted") from None

    return signal


@pytest.fixture(autouse=True)
def _macos(monkeypatch: pytest.MonkeyPatch) -> None:
    listdir = os.listdir

    def without_proc(path: str = ".") -> list[str]:
        if path == "/proc":
            raise FileNotFoundError(path)
        return listdir(path)

    monkeypatch.delattr(os, "pidfd_open", raising=False)
    monkeypatch.setattr(os, "listdir", without_proc)
    monkeypatch.setattr(os, "killpg", signal_as_macos_does(os.killpg))


@pytest.fixture(params=["SelectSelector", "PollSelector"])
def run(request: pytest.FixtureRequest) -> Callable[[Coroutine[Any, Any, None]], None]:
    """Run a coroutine in a loop with a selector that is not Linux' own."""

    def run_in_such_a_loop(work: Coroutine[Any, Any, None]) -> None:
        loop = asyncio.SelectorEventLoop(getattr(selectors, request.param)())
        try:
            loop.run_until_complete(work)
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            loop.close()

    return run_in_such_a_loop


@pytest.mark.quick_rows(1)
def test_a_whole_session(run: Callable[[Coroutine[Any, Any, None]], None]) -> None:
    """F-STD-1, F-STD-2: nothing is left behind, as every test is held to."""

    async def session() -> None:
        async with Client(DEMO) as client:
            assert (await client.call_tool("add", {"a": 1, "b": 2})).structured == {"sum": 3}

    run(session())


def test_the_exit_code_and_the_last_words(run: Callable[[Coroutine[Any, Any, None]], None]) -> None:
    """F-LIFE-7"""

    async def session() -> None:
        source = "import os; os.write(2, b'no luck\\n'); os._exit(3)"
        with pytest.raises(ProcessExited, match="no luck") as caught:
            await Client(python(source), stderr="discard")
        assert caught.value.exit_code == 3

    run(session())


def test_more_than_a_pipe_holds(run: Callable[[Coroutine[Any, Any, None]], None]) -> None:
    """F-STD-4"""

    async def session() -> None:
        recorder = Recorder()
        server = await spawn(ECHO, recorder)
        server.write(b"x" * 1_000_000)
        await recorder.size(1_000_000)
        await server.stop()
        assert server.exit_code == 0

    run(session())


def test_a_tree_is_stopped(run: Callable[[Coroutine[Any, Any, None]], None]) -> None:
    """F-STD-2: where a group of the dead differs from the living by the result of a signal."""

    async def session() -> None:
        recorder = Recorder()
        server = await spawn(tree(), recorder)
        pids = [int(word) for word in (await recorder.lines(1))[0].split()]
        await server.stop()
        for pid in pids:
            wait_until(lambda pid=pid: not is_alive(pid), f"{pid} is gone")  # type: ignore[misc]

    run(session())


def test_a_leader_that_refuses_is_gone_only_once_it_has_been_collected() -> None:
    """F-STD-2: "not permitted" may also come of a program that changed its user."""

    class Leader:
        pid, returncode = 2**22 + 1, None
        stdin = stdout = stderr = None

    group = ProcessGroup(Leader())  # type: ignore[arg-type]
    assert not group.is_gone()
    group.process.returncode = 0
    assert group.is_gone()
    group.forget()
