"""The event loop that all blocking clients of a process share, in a thread of its own."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextvars
import os
import sys
import threading
from collections import deque
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Callable, TypeVar
from weakref import WeakSet

from ..errors import ClientClosed, UsageError

T = TypeVar("T")

# Seconds at the end of the program: for clients to close, then for the remaining tasks to be
# cancelled. Together with the end of the thread they stay below five.
_CLOSING = 3.5
_CANCELLING = 0.5

# Seconds after Ctrl-C for notifying the server of the cancellation.
_TELLING = 2.0

# On Windows Ctrl-C does not interrupt waiting for a lock, so the wait is split into pieces.
_PIECE = 0.1 if sys.platform == "win32" else -1

# The first step of a coroutine needs no turn of the event loop, where Python can do without.
_EAGERLY: dict[str, Any] = {"eager_start": True} if sys.version_info >= (3, 12) else {}


class LoopThread:
    """A daemon thread that runs an event loop until `stop`.

    Raises `UsageError` in a subinterpreter that allows no threads (or, on Windows, no event loops),
    and at the end of the program.
    """

    def __init__(self) -> None:
        try:
            self.loop: asyncio.AbstractEventLoop = asyncio.new_event_loop()
        except ValueError as error:  # signals wake a loop of Windows, in the main interpreter alone
            raise _refusal(error) from error
        self._to_close: WeakSet[Any] = WeakSet()
        self._arrived: deque[_Running] = deque()
        self._is_woken = False
        #: Set when the interpreter ends: threads that still wait are daemon threads, so their calls
        #: end silently, as the threads themselves do.
        self.is_silenced = False
        self._is_ending = self._has_ended = False
        try:
            self._thread = threading.Thread(target=self._live, name="mcpclient", daemon=True)
            self._thread.start()
        except RuntimeError as error:
            self.loop.close()
            raise _refusal(error) from error
        self.ident: int | None = self._thread.ident

    def _live(self) -> None:
        asyncio.set_event_loop(self.loop)
        while not self._is_ending:
            # A task that raises SystemExit stops the loop, which all other clients need as well.
            with suppress(BaseException):
                self.loop.run_forever()
        self._has_ended = True
        self._refuse_arrived()

    def to_close(self, closable: Any) -> None:
        """Register an object to be closed before the loop ends; the reference is weak."""
        self.loop.call_soon_threadsafe(self._to_close.add, closable)

    # Running

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop and wait for it; return its result or raise its exception.

        If the wait is interrupted, for example by Ctrl-C, the coroutine is cancelled. The exception
        is raised once the coroutine has ended, after two seconds, or at a second Ctrl-C.
        """
        ended = threading.Lock()  # it costs half as much as a future
        ended.acquire()
        waiting = _Running(self, coroutine, ended.release)
        try:
            self._schedule(waiting)
            while not ended.acquire(timeout=_PIECE):
                pass
        except BaseException:
            with suppress(RuntimeError):  # the loop is closed
                self.loop.call_soon_threadsafe(self._cancel, waiting)
                ended.acquire(timeout=_TELLING)
            raise
        error, waiting.error = waiting.error, None
        if error is None:
            outcome: T = waiting.result
            return outcome
        try:
            if isinstance(error, asyncio.CancelledError):
                raise concurrent.futures.CancelledError from None
            raise error
        finally:
            del error  # breaks a reference cycle: the error's traceback holds this frame

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Run a coroutine in the loop; cancelling the future cancels it."""
        future: concurrent.futures.Future[T] = concurrent.futures.Future()

        def tell() -> None:
            error, running.error = running.error, None
            if isinstance(error, asyncio.CancelledError):
                future.cancel()
            if not future.set_running_or_notify_cancel():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(running.result)

        def cancel(_: object) -> None:
            if future.cancelled():
                running.is_cancelled = True  # at once, so that the coroutine does not start
                with suppress(RuntimeError):  # the loop is closed
                    self.loop.call_soon_threadsafe(running.cancel)

        running = _Running(self, coroutine, tell)
        future.add_done_callback(cancel)
        self._schedule(running)
        return future

    def _schedule(self, running: _Running) -> None:
        # Waking the loop costs more than all else here, so one wake-up serves all coroutines that
        # arrive before the loop runs.
        self._arrived.append(running)
        if self._has_ended:
            self._refuse_arrived()
        elif not self._is_woken:
            try:
                self._is_woken = True
                self.loop.call_soon_threadsafe(self._start_arrived)
            except BaseException:  # Ctrl-C, perhaps: otherwise nothing would wake the loop again
                self._is_woken = False
                raise

    def _start_arrived(self) -> None:
        self._is_woken = False
        while self._arrived:
            self._arrived.popleft().start()

    def _cancel(self, waiting: _Running) -> None:
        self._start_arrived()  # Ctrl-C may have come before it could wake the loop
        waiting.cancel()

    def _refuse_arrived(self) -> None:
        with suppress(IndexError):  # two threads may race for the last one
            while True:
                self._arrived.popleft().refuse(_at_the_end())

    # The end

    def stop(self) -> None:
        """Close everything that is open and end the thread, within five seconds."""
        closing = asyncio.run_coroutine_threadsafe(self._close_all(), self.loop)
        with suppress(Exception):
            closing.result(_CLOSING + 2 * _CANCELLING)
        self._is_ending = True
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(_CANCELLING)
        if not self._thread.is_alive():
            self.loop.close()

    async def _close_all(self) -> None:
        self._start_arrived()
        await asyncio.sleep(0)  # what has not begun could not be told that it is cancelled
        closing = {asyncio.ensure_future(each.close()) for each in list(self._to_close)}
        if closing:
            await asyncio.wait(closing, timeout=_CLOSING)
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        if rest:
            await asyncio.wait(rest, timeout=_CANCELLING)
        for task in closing:
            if task.done() and not task.cancelled():
                task.exception()  # at the end of the program a failed close helps no caller
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.loop.shutdown_asyncgens(), _CANCELLING)


class _Running:
    """A coroutine that runs in the loop for another thread, in that one's context.

    ``tell``: reports its end to that thread.
    """

    def __init__(
        self, thread: LoopThread, coroutine: Coroutine[Any, Any, Any], tell: Callable[[], None]
    ) -> None:
        self.result: Any = None
        self.error: BaseException | None = None
        self.is_cancelled = False
        self._thread = thread
        self._coroutine = coroutine
        self._tell = tell
        self._context = contextvars.copy_context()
        self._task: asyncio.Task[Any] | None = None
        self._has_begun = False

    def start(self) -> None:
        """Start the coroutine; called in the loop."""
        make: Callable[..., asyncio.Task[Any]] = asyncio.Task
        self._task = self._context.run(make, self._live(), loop=self._thread.loop, **_EAGERLY)

    async def _live(self) -> None:
        # The coroutine reports its outcome itself: a done callback would take another loop turn.
        self._has_begun = True
        try:
            if self.is_cancelled:
                self._coroutine.close()
                raise asyncio.CancelledError
            self.result = await self._coroutine
        except BaseException as error:
            own = error.__traceback__  # without this frame, which holds the error
            self.error = error.with_traceback(own and own.tb_next)
        if not self._thread.is_silenced:
            self._tell()

    def cancel(self) -> None:
        """Cancel the coroutine; called in the loop."""
        self.is_cancelled = True
        if self._task is not None and self._has_begun:
            self._task.cancel()

    def refuse(self, error: BaseException) -> None:
        self._coroutine.close()
        self.error = error
        if not self._thread.is_silenced:
            self._tell()


# The thread of this process

_current: LoopThread | None = None
_beginning = threading.Lock()
_is_at_exit = False


def loop_thread() -> LoopThread:
    """Return the thread of this process; the first call starts it.

    Raises `UsageError` in that thread itself, where waiting would deadlock.
    """
    thread = _current or _begin()
    if thread.ident == threading.get_ident():
        raise UsageError(
            "a blocking call in the event loop of the blocking clients would wait for itself: "
            "make the handler a plain function, which may block, or await the asynchronous client "
            "(client.async_client)"
        )
    return thread


def running_loop_thread() -> LoopThread:
    """Return the thread of this process, also to code that runs in its loop."""
    return _current or _begin()


def _begin() -> LoopThread:
    global _current
    with _beginning:
        if _is_at_exit:
            raise _at_the_end()
        if _current is None:
            _current = LoopThread()
            # Exit handlers run in reverse order: registered last, this runs while servers live.
            atexit.unregister(_end_at_exit)
            atexit.register(_end_at_exit)
        return _current


def close_soon(closable: Any) -> None:
    """Close an object that is no longer referenced, without waiting."""
    thread = _current
    if thread is not None:
        with suppress(ClientClosed):
            thread.submit(closable.close())


def end_loop_thread() -> None:
    """Close every client and end the thread; a later call starts another one. Idempotent."""
    global _current
    with _beginning:
        thread, _current = _current, None
    if thread is not None:
        thread.stop()


def _end_at_exit() -> None:
    global _is_at_exit
    _is_at_exit = True
    if _current is not None:
        _current.is_silenced = True
    end_loop_thread()


def _refusal(error: Exception) -> UsageError:
    return UsageError(
        "a blocking client needs a daemon thread with an event loop, which this interpreter does "
        f"not allow ({error}); use it in the main interpreter, or use the asynchronous client"
    )


def _at_the_end() -> ClientClosed:
    return ClientClosed("the event loop of the blocking clients has ended with the program")


_inherited: list[LoopThread] = []


def _forget_parent() -> None:
    """Drop the thread in a forked child: threads are not copied, and its loop is the parent's."""
    global _current, _beginning
    _beginning = threading.Lock()
    if _current is not None:
        _inherited.append(_current)  # kept: freeing a loop closes the files that it watches
        _current = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)
