"""Server processes as a transport uses them, with real ones; by the loop and by threads."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mcpclient.errors import CommandNotFound, ConnectionLost, ProcessExited, UsageError
from mcpclient.net.process import server_process as process_module
from mcpclient.net.process.server_process import ServerProcess, spawn
from mcpclient.net.process.stopping import StopLadder, kill_all
from tests.net.process_helpers import ECHO, Recorder, is_alive, python, tree, until, wait_until

pytestmark = pytest.mark.needs_posix

IMPATIENT = StopLadder(close_input=0.05, terminate=0.05)

BothPumps = pytest.mark.parametrize("threads", [False, True], ids=["loop", "threads"])


@asynccontextmanager
async def running(
    command: list[str], **options: Any
) -> AsyncIterator[tuple[ServerProcess, Recorder]]:
    """Give a server, which is stopped in the end, and the receiver of its output."""
    receiver = Recorder()
    server = await spawn(command, receiver, **options)
    yield server, receiver
    await server.stop()


@BothPumps
async def test_bytes_go_there_and_back(threads: bool) -> None:
    """F-STD-1 F-LIFE-6: also more than any pipe holds, and stop() may be called again."""
    receiver = Recorder()
    server = await spawn(ECHO, receiver, threads=threads)
    server.write(b"hello")
    assert await receiver.size(5) == b"hello"
    data = os.urandom(1 << 20)
    server.write(data)
    assert (await receiver.size(5 + len(data)))[5:] == data
    assert server.exit_code is None and is_alive(server.pid)
    await server.stop()
    await server.stop()
    assert server.exit_code == 0 and not is_alive(server.pid)
    assert [end.exit_code for end in receiver.ends] == [0]
    with pytest.raises(ProcessExited):
        server.write(b"late")


@BothPumps
async def test_a_server_that_does_not_read_stalls_only_its_own_writers(threads: bool) -> None:
    """F-STD-5"""
    deaf_receiver, receiver = Recorder(), Recorder()
    deaf = await spawn(python("import time; time.sleep(60)"), deaf_receiver, threads=threads)
    echo = await spawn(ECHO, receiver, threads=threads)
    deaf.write(b"x" * (1 << 20))
    assert deaf.paused
    echo.write(b"fine")
    assert not echo.paused
    assert await receiver.size(4) == b"fine"
    assert deaf.paused
    os.kill(deaf.pid, signal.SIGKILL)
    assert (await deaf_receiver.end()).exit_code == -9
    assert not deaf.paused and not deaf_receiver.resumptions
    await asyncio.gather(deaf.stop(), echo.stop())


@BothPumps
async def test_the_receiver_hears_when_the_server_reads_again(threads: bool) -> None:
    """F-STD-5"""
    source = (
        "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)\nwhile os.read(0, 65536): pass"
    )
    async with running(python(source), threads=threads) as (server, receiver):
        server.write(b"x" * (1 << 20))
        assert server.paused
        while not receiver.resumptions:
            os.kill(server.pid, signal.SIGCONT)
            await asyncio.sleep(0.005)
        assert not server.paused and receiver.resumptions == 1


@BothPumps
async def test_a_killed_server_is_reported_with_its_last_words(threads: bool) -> None:
    """F-LIFE-7: at once, with the signal and what stood on stderr."""
    command = [*ECHO, "--say", "about to work"]
    async with running(command, stderr="discard", threads=threads) as (server, receiver):
        server.write(b"x")
        await receiver.size(1)
        os.kill(server.pid, signal.SIGKILL)
        error = await receiver.end()
        assert error.exit_code == -signal.SIGKILL and error.command[0] == command[0]
        assert error.stderr == "about to work\n" == server.stderr_tail


@BothPumps
async def test_everything_written_before_the_exit_arrives(threads: bool) -> None:
    """F-LIFE-7 F-STD-7: all of stdout, then the last 4 KiB of stderr and the exit code."""
    source = (
        "import os\nfor fd, size in ((2, 30_000), (1, 60_000)): os.write(fd, b'e' * size)\n"
        "os.write(2, b'usage: server FILE'); os._exit(2)"
    )
    receiver = Recorder()
    server = await spawn(python(source), receiver, stderr="discard", threads=threads)
    error = await receiver.end()
    assert len(receiver.data) == 60_000
    assert error.exit_code == 2
    assert len(error.stderr) == 4096 and error.stderr.endswith("usage: server FILE")
    assert len(server.stderr_tail) == 30_000 + len("usage: server FILE")
    await server.stop()
    assert len(receiver.ends) == 1


async def test_a_server_that_closes_its_output_and_lives_on_has_ended() -> None:
    """F-LIFE-7: reported within 1 s without an exit code; stop() still stops it."""
    receiver = Recorder()
    command = python("import os, time; os.close(1); time.sleep(60)")
    server = await spawn(command, receiver, ladder=IMPATIENT)
    error = await receiver.end()
    assert error.exit_code is None and is_alive(server.pid)
    await server.stop()
    assert not is_alive(server.pid) and len(receiver.ends) == 1


@BothPumps
async def test_a_server_that_closes_its_input_has_ended(threads: bool) -> None:
    """F-LIFE-7: once something is written that it can never read."""
    source = "import os, time; os.close(0); os.write(1, b'closed'); time.sleep(60)"
    async with running(python(source), ladder=IMPATIENT, threads=threads) as (server, receiver):
        await receiver.size(6)
        server.write(b"request")
        assert (await receiver.end()).exit_code is None


@BothPumps
async def test_an_escaped_grandchild_that_holds_the_pipes_delays_nothing(threads: bool) -> None:
    """F-LIFE-7 F-LIFE-6: it left the group, so it cannot be found; but its pipes are let go."""
    receiver = Recorder()
    server = await spawn(tree("--orphan", "--escape"), receiver, threads=threads)
    escaped = int((await receiver.lines(1))[0].split()[0])
    server.write(b"x")
    error = await receiver.end()
    assert error.exit_code == 3
    await server.stop()
    assert is_alive(escaped)
    os.kill(escaped, signal.SIGKILL)
    await until(lambda: not is_alive(escaped), "the escaped process is gone")


@BothPumps
async def test_the_whole_tree_goes(threads: bool) -> None:
    """F-STD-2 F-STD-3: three processes that ignore SIGINT, SIGTERM and the end of their input."""
    receiver = Recorder()
    ladder = StopLadder(interrupt=0.05, close_input=0.05, terminate=0.05)
    server = await spawn(tree("--stubborn"), receiver, ladder=ladder, threads=threads)
    pids = [server.pid, *map(int, (await receiver.lines(1))[0].split())]
    assert len(set(pids)) == 3 and all(map(is_alive, pids))
    await asyncio.gather(*[server.stop() for _ in range(3)])  # from any task
    assert not any(map(is_alive, pids))
    assert len(receiver.ends) == 1


async def test_what_a_server_leaves_behind_when_it_exits_goes_without_a_stop() -> None:
    """F-STD-2"""
    async with running(tree("--orphan", "--stubborn"), ladder=IMPATIENT) as (server, receiver):
        orphan = int((await receiver.lines(1))[0].split()[0])
        server.write(b"x")
        assert (await receiver.end()).exit_code == 3
        await until(lambda: not is_alive(orphan), "the orphan is gone")


async def test_writing_to_a_server_that_is_being_stopped_is_refused() -> None:
    """F-LIFE-6"""
    receiver = Recorder()
    server = await spawn(tree("--stubborn"), receiver, ladder=IMPATIENT)
    await receiver.lines(1)
    stopping = asyncio.ensure_future(server.stop())
    await asyncio.sleep(0)
    with pytest.raises(ConnectionLost, match="being stopped"):
        server.write(b"x")
    await stopping


@BothPumps
async def test_a_cancelled_stop_kills_at_once_and_frees_the_other_callers(threads: bool) -> None:
    """F-STD-2 F-LIFE-6"""
    endless = StopLadder(close_input=60)
    async with running(tree("--stubborn"), ladder=endless, threads=threads) as (server, receiver):
        pids = [server.pid, *map(int, (await receiver.lines(1))[0].split())]
        server.write(b"x" * (1 << 20))
        one, other = (asyncio.ensure_future(server.stop()) for _ in range(2))
        await asyncio.sleep(0)
        one.cancel()
        with pytest.raises(asyncio.CancelledError):
            await one
        await other
        assert not server.paused and not receiver.resumptions
        await until(lambda: not any(map(is_alive, pids)), "all are gone")
        assert not receiver.ends, "after an abort the receiver hears nothing"


async def test_a_server_that_cannot_be_killed_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-LIFE-6: stop() is bounded even then."""
    receiver = Recorder()
    server = await spawn(
        python("import time; time.sleep(60)"),
        receiver,
        ladder=StopLadder(close_input=0.01, terminate=0.01, kill=0.01),
    )
    with monkeypatch.context() as patch:
        patch.setattr(os, "killpg", lambda *_: None)
        await server.stop()
    assert [end.exit_code for end in receiver.ends] == [None]
    os.kill(server.pid, signal.SIGKILL)
    await until(lambda: not is_alive(server.pid), "the process is gone")


@BothPumps
async def test_the_end_of_the_interpreter_is_told_to_nobody(threads: bool) -> None:
    """F-LIFE-5: a loop in a daemon thread runs on while the servers are killed."""
    receiver = Recorder()
    server = await spawn(ECHO, receiver, threads=threads)
    server.write(b"hello")
    await receiver.size(5)
    kill_all()
    await until(lambda: server.exit_code is not None, "it has ended")
    await server.stop()
    assert receiver.ends == []


@BothPumps
async def test_abort_from_the_loop_and_from_another_thread(threads: bool) -> None:
    """F-LIFE-5"""
    for elsewhere in (False, True):
        receiver = Recorder()
        server = await spawn(tree("--stubborn"), receiver, threads=threads)
        pids = [server.pid, *map(int, (await receiver.lines(1))[0].split())]
        stopping = asyncio.ensure_future(server.stop()) if elsewhere else None
        if elsewhere:
            thread = threading.Thread(target=server.abort)
            thread.start()
            thread.join()
        else:
            server.abort()
            server.abort()
        if stopping:
            await stopping
        await until(lambda pids=pids: not any(map(is_alive, pids)), "gone")  # type: ignore[misc]
        with pytest.raises(ConnectionLost):
            server.write(b"x")


@BothPumps
async def test_a_receiver_may_abort_while_it_is_being_called(threads: bool) -> None:
    """F-LIFE-5"""

    class Aborting(Recorder):
        server: ServerProcess

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self.server.abort()

    receiver = Aborting()
    receiver.server = await spawn(ECHO, receiver, threads=threads)
    receiver.server.write(b"x")
    assert await receiver.size(1) == b"x"
    await receiver.server.stop()
    await until(lambda: not is_alive(receiver.server.pid), "the process is gone")
    assert not receiver.ends


@BothPumps
def test_abort_from_a_finalizer_after_the_loop_is_closed(threads: bool) -> None:
    """F-LIFE-5: no exception, no warning, no descriptor left (the fixtures of this suite look)."""

    class Owner:
        server: ServerProcess

        def __del__(self) -> None:
            self.server.abort()

    async def main(owner: Owner) -> list[int]:
        receiver = Recorder()
        owner.server = await spawn(tree("--stubborn"), receiver, threads=threads)
        owner.server.write(b"x" * (1 << 20))
        return [owner.server.pid, *map(int, (await receiver.lines(1))[0].split())]

    owner = Owner()
    pids = asyncio.run(main(owner))
    assert all(map(is_alive, pids))
    del owner
    gc.collect()
    wait_until(lambda: not any(map(is_alive, pids)), "all are gone")


async def test_the_environment_and_the_directory_are_as_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """F-STD-1: the environment of a server."""
    monkeypatch.setenv("PYTHONPATH", "/leak")
    monkeypatch.setenv("API_TOKEN", "leak")
    source = "import os; print(*sorted(os.environ), os.getcwd(), os.environ['KEY'])"
    async with running(python(source), env={"KEY": "value"}, cwd=tmp_path) as (_, receiver):
        *names, directory, value = (await receiver.lines(1))[0].split()
        assert "PATH" in names and not {"PYTHONPATH", "API_TOKEN"} & set(names)
        assert (directory, value) == (str(tmp_path), "value")


@pytest.mark.parametrize("inherit_env", ["all", "none"])
async def test_what_is_inherited_is_up_to_the_caller(
    inherit_env: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-STD-1: everything, or nothing."""
    monkeypatch.setenv("API_TOKEN", "ours")
    source = "import os; print(*sorted({'API_TOKEN', 'KEY', 'PATH'} & set(os.environ)))"
    async with running(python(source), env={"KEY": "value"}, inherit_env=inherit_env) as (
        _,
        receiver,
    ):
        seen = ["API_TOKEN", "KEY", "PATH"] if inherit_env == "all" else ["KEY"]
        assert (await receiver.lines(1))[0].split() == seen


async def test_what_cannot_start_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-STD-7 F-STD-2"""
    with pytest.raises(CommandNotFound, match="PATH searched: /nowhere"):
        await spawn(["server"], Recorder(), env={"PATH": "/nowhere"})
    with pytest.raises(UsageError):
        await spawn(ECHO, Recorder(), stderr="sideways")

    def failing(*arguments: object) -> None:
        raise MemoryError

    for part in ("ExitWatch", "PipeReader"):
        with monkeypatch.context() as patch:
            patch.setattr(process_module, part, failing)
            with pytest.raises(MemoryError):
                await spawn(ECHO, Recorder())


@pytest.mark.quick_rows(2)
@BothPumps
@pytest.mark.parametrize("stderr", ["inherit", "discard", "lines"])
async def test_megabytes_of_stderr_deadlock_nothing(
    threads: bool, stderr: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """F-STD-4"""
    lines: list[str] = []
    source = (
        "import os\nfor _ in range(64): os.write(2, b'%s\\n' % (b'n' * 32767))\n"
        "os.write(1, os.read(0, 1)); os.read(0, 1)"
    )
    receiver = Recorder()
    target: Any = lines.append if stderr == "lines" else stderr
    server = await spawn(python(source), receiver, stderr=target, threads=threads)
    server.write(b"x")
    assert await receiver.size(1) == b"x"
    await server.stop()
    assert len(server.stderr_tail) == 64 * 1024
    assert len(capsys.readouterr().err) == (2 << 20 if stderr == "inherit" else 0)
    assert lines == (["n" * 32767] * 64 if stderr == "lines" else [])


async def test_a_receiver_that_fails_holds_nothing_up(caplog: pytest.LogCaptureFixture) -> None:
    """F-LIFE-6: its exception goes to the loop's handler, and stop() still returns."""
    reported: list[str] = []

    class Failing(Recorder):
        def process_ended(self, error: ProcessExited) -> None:
            raise LookupError("receiver")

    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: reported.append(repr(context["exception"])))
    server = await spawn(ECHO, Failing())
    await server.stop()
    assert not is_alive(server.pid)
    assert reported == ["LookupError('receiver')"]
