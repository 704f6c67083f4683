"""Server processes: starting one, exchanging bytes with it, and ending it without leftovers."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from ...errors import ConnectionLost, ProcessExited
from ..futures import call_from_thread, resolve
from .launch import child_environment, launch
from .pipes import PipeReader, PipeWriter, ThreadedReader, ThreadedWriter
from .stderr import StderrTarget, StderrTee
from .stopping import ExitWatch, ProcessGroup, StopLadder, Stopping, give_up, process_group

if TYPE_CHECKING:
    from ...sandbox.denials import Denials
    from ...sandbox.rights import Sandbox

_DEFAULT_LADDER = StopLadder()

# Seconds to wait for the exit code of a server that closed its output: it is about to exit.
_EXIT_GRACE = 0.5
# Seconds after the exit: a descendant of the server may hold its output or stderr open for ever.
_PIPE_GRACE = 0.2
# Bytes of stderr that an error contains.
_SHOWN_STDERR = 4 * 1024


class ProcessReceiver(Protocol):
    """The receiver of a process's events, called from the event loop."""

    def data_received(self, data: bytes) -> None:
        """Handle a chunk of the server's stdout, as it was read."""

    def writing_resumed(self) -> None:
        """Resume writing: the server reads again, after `ServerProcess.paused` was true."""

    def process_ended(self, error: ProcessExited) -> None:
        """Handle the end of the server, which may live on with its stdout or stdin closed.

        Called exactly once, after the last `data_received`, unless `ServerProcess.abort` or the
        end of the interpreter comes first: then never.
        """


async def spawn(
    command: Sequence[str],
    receiver: ProcessReceiver,
    *,
    env: Mapping[str, str] | None = None,
    inherit_env: str = "safe",
    cwd: str | os.PathLike[str] | None = None,
    stderr: StderrTarget = "inherit",
    ladder: StopLadder = _DEFAULT_LADDER,
    sandbox: Sandbox | None = None,
    threads: bool = sys.platform == "win32",
) -> ServerProcess:
    """Start ``command`` (a list: program and arguments) whose output goes to ``receiver``.

    The server's environment is ``env`` added to the part of ours that ``inherit_env`` selects: an
    allow-list (``"safe"``), ``"all"`` or ``"none"``. The program is looked up in the PATH of that
    environment. ``cwd``: the server's working directory; by default ours. For ``stderr`` see
    `StderrTarget`; its last 64 KiB are always kept. ``ladder``: how long each step of stopping may
    take. ``sandbox``: the rights it gets; by default the user's. ``threads``: move bytes with
    threads, for an event loop that cannot watch pipes.

    Raises `UsageError`, `CommandNotFound` or `ConnectFailed`. It never waits, so cancelling it
    cannot leave a process behind. The caller must call `stop` or `abort` in the end.
    """
    loop = asyncio.get_running_loop()
    environment = child_environment(env, inherit_env, os.environ, windows=sys.platform == "win32")
    denials = None
    if sandbox is not None:
        from ...sandbox.denials import Denials

        denials = Denials(sandbox, command, environment, os.fspath(cwd or ""))
    tee = StderrTee(stderr, denials)
    process = launch(command, environment, cwd, sandbox)
    server = None
    try:
        group = process_group(process)
        server = ServerProcess(loop, command, group, receiver, tee, ladder, env or {})
        server._connect(threads)
    except BaseException:  # no thread could start, no memory, Ctrl-C before Python 3.11
        if server is not None:
            server.abort()
        give_up(process)
        raise
    return server


class ServerProcess:
    """A running server, as `spawn` returns it. Use it from its event loop, except `abort`."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        command: Sequence[str],
        group: ProcessGroup,
        receiver: ProcessReceiver,
        tee: StderrTee,
        ladder: StopLadder,
        variables: Mapping[str, str],
    ) -> None:
        self.command: list[str] = list(command)
        self.pid: int = group.process.pid
        #: None while the process runs; negative: the signal that ended it.
        self.exit_code: int | None = None
        #: Whether more than 64 KiB written are not yet taken by the server.
        self.paused: bool = False
        self._loop = loop
        self._thread = threading.get_ident()
        self._group = group
        self._receiver = receiver
        self._tee = tee
        self._variables = variables
        self._stopping = Stopping(
            loop, ladder, group, lambda: self._input.finish(), self._group_gone
        )
        self._error: ConnectionLost | None = None
        self._reported = self._released = self._is_group_gone = False
        self._open = {"stdin", "stdout", "stderr"}
        self._report_timer: asyncio.TimerHandle | None = None
        self._stopped: asyncio.Future[None] = loop.create_future()
        self._parts: list[PipeReader | PipeWriter | ExitWatch] = []

    def _connect(self, threads: bool) -> None:
        process = self._group.process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        reader = ThreadedReader if threads else PipeReader
        writer = ThreadedWriter if threads else PipeWriter
        loop, parts = self._loop, self._parts
        parts.append(ExitWatch(loop, process, self._exited, threads))
        broken = partial(self._closed, "stdin")
        self._input = writer(loop, process.stdin, self._pause_changed, broken)
        parts.append(self._input)
        received = self._receiver.data_received
        self._output = reader(loop, process.stdout, received, partial(self._closed, "stdout"))
        parts.append(self._output)
        ended = partial(self._closed, "stderr")
        self._stderr = reader(loop, process.stderr, self._tee.write, ended)
        parts.append(self._stderr)

    @property
    def stderr_tail(self) -> str:
        """The last 64 KiB the server wrote to stderr."""
        return self._tee.tail()

    @property
    def denials(self) -> Denials | None:
        """The denials of the server's sandbox; None without one."""
        return self._tee.denials

    @property
    def has_unread(self) -> bool:
        """Whether written bytes wait to be read by the server, where the system tells."""
        return self._input.has_unread

    @property
    def left_unread(self) -> bool:
        """Whether the server has ended without reading all that was written."""
        return self.exit_code is not None and (self._input.has_unread or self._input.left_unread)

    def write(self, data: bytes | memoryview) -> None:
        """Send ``data`` to the server's stdin; bytes the pipe does not take are kept in memory.

        Never waits: a caller with much to write pauses while `paused`. Raises `ProcessExited` when
        the server has ended, or `ConnectionLost` when it is being stopped.
        """
        if self._error is not None:
            raise self._error.again()
        self._input.write(data)

    def hold(self, *, is_held: bool) -> None:
        """Stop reading the server's stdout, or go on."""
        self._output.hold(is_held=is_held)

    @property
    def was_forced(self) -> bool:
        """True once the server or one of its processes had to be ended by a signal."""
        return self._stopping.is_forced

    async def stop(self) -> None:
        """Stop the server and all it started, step by step; return when nothing is left.

        Idempotent, and the steps are taken once for all callers. Bounded by the sum of the ladder's
        waits. If a caller is cancelled meanwhile, the group is killed at once.
        """
        if self._released or self._group.disowned:
            return
        if self._error is None:
            self._error = ConnectionLost("the server process is being stopped")
        self._stopping.begin()
        try:
            await asyncio.shield(self._stopped)
        except asyncio.CancelledError:
            self.abort()
            raise

    def abort(self) -> None:
        """Kill the server and its descendants, and release its pipes, at once.

        May be called from any thread and from finalizers, also when the loop is closed; never
        raises. The receiver is called no more, and waiting `stop` calls return.

        A running loop keeps references to this object and to its receiver, so the finalizer that
        calls this must belong to an object which neither of them refers to.
        """
        if self._released or self._group.disowned:
            return
        self._group.kill()
        is_elsewhere = self._loop.is_running() and threading.get_ident() != self._thread
        if not (is_elsewhere and call_from_thread(self._loop, self._release)):
            self._release()

    # Events of the pipes and the process, called from the loop.

    def _pause_changed(self, paused: bool) -> None:
        self.paused = paused
        if not paused and self._error is None:
            self._receiver.writing_resumed()

    def _closed(self, stream: str) -> None:
        self._open.discard(stream)
        if stream == "stderr":
            self._tee.write(b"")
        self._advance()

    def _exited(self, exit_code: int) -> None:
        self.exit_code = exit_code
        if not self._released:
            self._stopping.leader_ended()
            self._report_within(_PIPE_GRACE)
            self._advance()

    def _advance(self) -> None:
        """Report the end once all is known about it, or when the grace period is over."""
        if self._reported:
            return
        if self.exit_code is not None:
            if self._open <= {"stdin"}:
                self._report()
        elif self._report_timer is None and not self._open >= {"stdin", "stdout"}:
            self._report_within(_EXIT_GRACE)

    def _report_within(self, seconds: float) -> None:
        self._cancel_report_timer()
        if not self._reported:
            self._report_timer = self._loop.call_later(seconds, self._report)

    def _cancel_report_timer(self) -> None:
        if self._report_timer is not None:
            self._report_timer.cancel()

    def _report(self) -> None:
        self._reported = True
        self._cancel_report_timer()
        try:
            self._stderr.sweep()
            self._output.sweep()
        finally:
            self._output.close()
            said = self._tee.tail() if self._error is None else ""  # of one that was not stopped
            if said and self._variables:  # few have both, so few programs import the module
                from ...recording.secrets import without_values

                said = without_values(said, self._variables)
            error = ProcessExited(self.command, self.exit_code, said[-_SHOWN_STDERR:])
            if self._tee.denials is not None:
                self._tee.denials.advise_start(error)
            self._error = error
            self.paused = False
            try:
                if not (self._released or self._group.silenced):
                    self._receiver.process_ended(error)
            finally:
                if self._is_group_gone:
                    self._release()

    # The end.

    def _group_gone(self) -> None:
        self._is_group_gone = True
        if self._reported:
            self._release()
        elif self.exit_code is None:
            self._report()  # a process that cannot be killed reports no exit

    def _release(self) -> None:
        if self._released:
            return
        self._released = True
        self._group.forget()
        self._stopping.cancel()
        self._cancel_report_timer()
        for part in self._parts:
            part.close()
        if self._error is None:
            self._error = ConnectionLost("the server process was killed")
        if not self._loop.is_closed():
            self.paused = False
            resolve(self._stopped, None)
