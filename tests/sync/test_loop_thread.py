"""F-API-18: one event loop for all blocking clients, in a thread of its own."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import dataclasses
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from mcpclient import ClientClosed, UsageError
from mcpclient.sync import loop_thread as module
from mcpclient.sync.loop_thread import LoopThread, end_loop_thread, loop_thread
from tests.net.process_helpers import is_alive, wait_until
from tests.support.subprocesses import TOP, lines_of, run_python
from tests.sync.calling import ToolServer, beginning

NAME = "mcpclient"


def loop_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == NAME]


def test_a_call_in_the_loop_itself_is_refused_at_once() -> None:
    """F-API-18: it would wait for itself."""

    async def call(arguments: dict[str, object]) -> str:
        try:
            return client.call_tool("echo", {"message": "x"}).text
        except UsageError as error:
            return str(error)

    with ToolServer(call=call).connected() as client:
        text = client.call_tool("call").text
    assert "would wait for itself" in text and "async_client" in text


def test_a_cancelled_coroutine_is_an_error_for_who_waits() -> None:
    async def give_up() -> None:
        raise asyncio.CancelledError

    with pytest.raises(concurrent.futures.CancelledError):
        loop_thread().run(give_up())


def test_ending_it_closes_what_is_open_and_the_next_call_begins_another() -> None:
    """F-API-18: every client is closed; calls that wait get an error."""
    server = ToolServer()
    client = server.connected()
    waiting = client.submit("call_tool", "never")
    first = loop_threads()
    end_loop_thread()
    with pytest.raises(ClientClosed):
        waiting.result(5)
    assert not loop_threads() and not client.is_connected
    with ToolServer().connected() as other:
        assert other.is_connected and loop_threads() != first


def test_a_forgotten_client_is_closed() -> None:
    """F-API-18, F-LIFE-5: garbage collection frees it, without a warning."""
    server = ToolServer()
    client = server.connected()
    client.call_tool("echo", {"message": "x"})
    assert not server.ended.is_set()
    del client
    gc.collect()
    assert server.ended.wait(5)


def test_a_stubborn_client_delays_the_end_only_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-API-18: under five seconds, whatever a client does when it is closed."""
    monkeypatch.setattr(module, "_CLOSING", 0.05)
    monkeypatch.setattr(module, "_CANCELLING", 0.05)

    class Stubborn:
        async def close(self) -> None:
            await asyncio.sleep(60)

    threads, stubborn = threading.enumerate(), Stubborn()
    thread = LoopThread()
    thread.to_close(stubborn)
    began = time.monotonic()
    thread.stop()
    assert time.monotonic() - began < 5
    assert threading.enumerate() == threads


def test_a_thread_that_has_ended_refuses() -> None:
    thread = LoopThread()
    thread.stop()
    submitted = thread.submit(asyncio.sleep(0))
    with pytest.raises(ClientClosed, match="has ended"):
        thread.run(asyncio.sleep(0))
    with pytest.raises(ClientClosed, match="has ended"):
        submitted.result(5)


# From Python 3.12 on, what is started has begun.
@pytest.mark.parametrize("is_started", [False] if sys.version_info >= (3, 12) else [False, True])
def test_what_is_cancelled_before_it_begins_never_does(is_started: bool) -> None:
    """F-API-18: neither by Ctrl-C, nor at the end."""
    begun: list[str] = []

    async def begin(name: str) -> None:
        begun.append(name)

    def interrupt() -> None:
        interrupted.append(thread.submit(begin("interrupted")))
        if is_started:
            thread.loop.call_soon(interrupted[0].cancel)
        else:
            interrupted[0].cancel()

    thread = LoopThread()
    interrupted: list[concurrent.futures.Future[None]] = []
    thread.loop.call_soon_threadsafe(interrupt)
    thread.run(asyncio.sleep(0))
    assert interrupted[0].cancelled()
    thread.stop()
    assert begun == []


def test_ctrl_c_before_the_loop_is_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-API-18: wherever it strikes, KeyboardInterrupt is raised and later calls are made."""
    thread = LoopThread()
    wake, strikes = thread.loop.call_soon_threadsafe, [KeyboardInterrupt]

    def struck(*arguments: object) -> object:
        if strikes:
            raise strikes.pop()
        return wake(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(thread.loop, "call_soon_threadsafe", struck)
    with pytest.raises(KeyboardInterrupt):
        thread.run(asyncio.sleep(0, "never made"))
    assert thread.run(asyncio.sleep(0, "made")) == "made"
    strikes.append(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        thread.submit(asyncio.sleep(0, "made later"))
    assert thread.submit(asyncio.sleep(0, "made")).result(5) == "made"
    thread.stop()


def test_where_threads_are_forbidden_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-API-18: as in a subinterpreter that allows no daemon threads."""

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("daemon threads are disabled in this interpreter")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(UsageError, match=r"daemon threads are disabled.*asynchronous client"):
        LoopThread()


def test_where_event_loops_are_forbidden_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-API-18: as in a subinterpreter on Windows."""

    def refuse() -> asyncio.AbstractEventLoop:
        raise ValueError("set_wakeup_fd only works in main thread of the main interpreter")

    monkeypatch.setattr(asyncio, "new_event_loop", refuse)
    with pytest.raises(UsageError, match=r"daemon thread.*set_wakeup_fd.*asynchronous client"):
        LoopThread()


PROGRAM = """
import sys
from mcpclient import sync
SERVER = [sys.executable, "-S", "-E", "tests/servers/mcp_stdio.py"]
"""


@pytest.mark.slow
@pytest.mark.needs_posix
def test_a_fork_needs_a_client_of_its_own() -> None:
    """F-API-18: an inherited client says so, another one works, and the parent's is untouched."""
    printed = run_python(
        PROGRAM
        + """
import os, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads
client = sync.connect(SERVER)
manager = sync.connect_all({"one": SERVER})
unused = sync.Client(SERVER)
child = os.fork()
if child == 0:
    for use in (
        lambda: client.call_tool("echo", {"text": "x"}),
        lambda: client.submit("call_tool", "echo", {"text": "x"}),
        lambda: manager.call_tool("one__echo", {"text": "x"}),
        manager.list_resources,
    ):
        try:
            use()
        except Exception as error:
            print(type(error).__name__, "make another in this process" in str(error))
    with unused, sync.connect(SERVER) as other:
        print(unused.call_tool("echo", {"text": "unused"}).text)
        print(other.call_tool("echo", {"text": "child"}).text, flush=True)
    sys.exit()
os.waitpid(child, 0)
print(client.call_tool("echo", {"text": "parent"}).text)
manager.close()
"""
    )
    assert printed.splitlines() == ["UsageError True"] * 4 + ["unused", "child", "parent"]


@pytest.mark.needs_posix
def test_a_fork_while_the_first_client_begins() -> None:
    """F-API-18: in another thread, which is missing in the child, and cannot end its work."""
    printed = run_python(
        """
        import os, signal, sys, warnings
        from mcpclient.sync import loop_thread as module
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads
        module._beginning.acquire()
        child = os.fork()
        if child == 0:
            signal.alarm(10)
            module.loop_thread().stop()
            print("begun", flush=True)
            os._exit(0)
        print(os.waitpid(child, 0)[1])
        """
    )
    assert printed.splitlines() == ["begun", "0"]


@pytest.mark.slow
@pytest.mark.needs_posix
def test_after_a_fork_a_client_may_reconnect() -> None:
    """F-API-18: at its first call in the child, once; nothing of the parent's is disturbed."""
    printed = run_python(
        PROGRAM
        + """
import os, warnings
from concurrent.futures import ThreadPoolExecutor
from mcpclient.client.requests import connection_of
warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads
def process_id(client):
    return connection_of(client.async_client).session.transport.process_id
client = sync.connect(SERVER, after_fork="reconnect")
manager = sync.connect_all({"one": SERVER}, after_fork="reconnect")
left = sync.connect(SERVER, after_fork="reconnect")
of_parent = process_id(client)
child = os.fork()
if child == 0:
    with ThreadPoolExecutor(4) as pool:
        echo = lambda word: client.call_tool("echo", {"text": word}).text
        print(*pool.map(echo, "abcd"), client.submit("list_tools").result()[0].name)
    own = process_id(client)
    client.ping()
    print(own != of_parent, process_id(client) == own)
    print(manager.call_tool("one__echo", {"text": "managed"}).text, flush=True)
    left.close()
    grandchild = os.fork()
    if grandchild == 0:
        print(client.call_tool("echo", {"text": "grandchild"}).text, flush=True)
        sys.exit()
    os.waitpid(grandchild, 0)
    sys.exit()
os.waitpid(child, 0)
print(client.call_tool("echo", {"text": "parent"}).text, process_id(client) == of_parent)
print(left.call_tool("echo", {"text": "left"}).text)
"""
    )
    assert printed.splitlines() == [
        *("a b c d echo", "True True", "managed", "grandchild"),
        *("parent True", "left"),
    ]


ENDS = {
    "return": (0, ""),
    "raise": (1, "LookupError: on purpose"),
    "exit": (7, ""),
    "interrupt": (-signal.SIGINT, "KeyboardInterrupt"),
}


@pytest.mark.needs_posix
@pytest.mark.quick_rows(1)
@pytest.mark.parametrize("way", ["interrupt", "return", "raise", "exit"])
def test_a_program_may_end_with_open_clients(way: str) -> None:
    """F-API-18, F-LIFE-5, F-STD-2: no orphan, no traceback of ours, under five seconds."""
    source = (
        PROGRAM
        + """
import os, signal, threading, time
# One that has something to keep secret, and writes to stderr: what it wrote is looked through.
SPEAKS = "import runpy; os.write(2, b'ready'); runpy.run_path(SERVER[-1], run_name='__main__')"
client = sync.connect(
    [*SERVER[:-1], "-c", f"import os; SERVER = {SERVER!r}; {SPEAKS}"],
    env={"API_KEY": "a-long-secret-value"},
    stderr="discard",
    elicitation=lambda request: time.sleep(600),
)
manager = sync.connect_all({"one": SERVER})
client.submit("call_tool", "never")
waiting = client.submit("call_tool", "never")
for wait in (lambda: client.call_tool("never"), waiting.result):
    threading.Thread(target=wait, daemon=True).start()
from mcpclient.client.requests import connection_of
for each in (client, manager["one"]):
    print(connection_of(each.async_client).session.transport.process_id, flush=True)
began = time.monotonic()
import atexit
from mcpclient.sync import loop_thread
atexit.register(lambda: os.write(1, b"%d\\n" % (time.monotonic() - began)))
atexit.unregister(loop_thread._end_at_exit)
atexit.register(loop_thread._end_at_exit)
if WAY == "raise":
    raise LookupError("on purpose")
if WAY == "exit":
    sys.exit(7)
if WAY == "interrupt":
    interrupt = threading.main_thread().ident, signal.SIGINT
    threading.Timer(0.2, signal.pthread_kill, interrupt).start()
    client.call_tool("never")
"""
    ).replace("WAY", repr(way))
    answer = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", source],
        cwd=TOP,
        env={**os.environ, "PYTHONPATH": str(TOP)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    *processes, seconds = map(int, answer.stdout.split())
    assert seconds < 5 and len(processes) == 2
    for process_id in processes:
        wait_until(lambda one=process_id: not is_alive(one), "it is gone")  # type: ignore[misc]
    code, last = ENDS[way]
    assert answer.returncode == code, answer.stderr
    errors = lines_of(answer.stderr)
    assert (errors[-1] if errors else "") == last, answer.stderr
    for noise in ("ignored", "never retrieved", "never awaited", "destroyed", "unclosed"):
        assert noise not in answer.stderr


@pytest.mark.slow
def test_a_call_after_the_end_says_so() -> None:
    """F-API-18: in an exit handler that runs after the clients were closed."""
    printed = run_python(
        PROGRAM
        + """
import atexit
def late():
    try:
        sync.list_tools(SERVER)
    except Exception as error:
        print(type(error).__name__, error)
atexit.register(late)
sync.list_tools(SERVER)
"""
    )
    assert printed.startswith("ClientClosed the event loop of the blocking clients has ended")


@pytest.mark.slow
def test_a_subinterpreter_works_or_refuses() -> None:
    """F-API-18: it says so where daemon threads are forbidden, and works where they are not."""
    subinterpreters = pytest.importorskip(
        "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    )
    del subinterpreters
    printed = run_python(
        """
        import sys
        name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
        subinterpreters = __import__(name)
        source = '''
        from mcpclient import sync, UsageError
        import sys
        try:
            tools = sync.list_tools([sys.executable, "-S", "-E", "tests/servers/mcp_stdio.py"])
            from mcpclient.sync.loop_thread import end_loop_thread
            end_loop_thread()
            print("listed", len(tools), flush=True)
        except UsageError as error:
            print("refused:", error, flush=True)
        '''
        import textwrap
        interpreter = subinterpreters.create()
        failure = subinterpreters.run_string(interpreter, textwrap.dedent(source))
        assert failure is None, failure
        subinterpreters.destroy(interpreter)
        """
    )
    assert printed.startswith(("listed 1", "refused: a blocking client needs a daemon thread"))


def test_a_task_that_leaves_with_system_exit_takes_no_other_along() -> None:
    """F-API-18: all clients share the loop, whatever an asynchronous handler does to it."""

    async def leave() -> None:
        sys.exit(3)

    async def begin() -> None:
        left.append(asyncio.ensure_future(leave()))

    left: list[asyncio.Task[None]] = []
    with ToolServer().connected() as client:
        with pytest.raises(SystemExit):
            loop_thread().run(leave())
        loop_thread().run(begin())  # a task of its own, which stops the loop
        assert client.call_tool("echo", {"message": "again"}).text == "again"
        assert isinstance(left[0].exception(), SystemExit)
        assert client.call_tool("echo", {"message": "still"}).text == "still"


def test_a_call_and_its_handlers_see_the_context_of_its_thread() -> None:
    """F-API-18, F-API-23: such as the current span of OpenTelemetry."""
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")

    def hook(call: Any, proceed: Any) -> Any:
        return proceed(dataclasses.replace(call, arguments={"message": variable.get()}))

    with ToolServer().connected(around=[hook]) as client:

        def call(word: str) -> str:
            variable.set(word)
            submitted = client.submit("call_tool", "echo", {"message": "x"})
            called = client.call_tool("echo", {"message": "x"}).text
            return f"{called}{submitted.result(5).text}"

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            assert list(pool.map(call, "ab")) == ["aa", "bb"]


def test_a_cancelled_future_cancels_the_call() -> None:
    """F-API-18: a future of `submit` is one of concurrent.futures, also in this."""
    began = threading.Event()
    server = ToolServer()
    server.tools["begin"] = beginning(began)
    with server.connected() as client:
        future = client.submit("call_tool", "begin")
        assert began.wait(5)
        assert future.cancel()
        client.call_tool("echo", {"message": "x"})
        assert len(server.sent("notifications/cancelled")) == 1
        assert client.submit("connect").result(5) is client
