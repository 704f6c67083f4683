"""Worker threads, in which the caller's handlers may block for as long as they like."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Mapping
from functools import partial
from queue import SimpleQueue
from typing import Any, Callable, Optional

from ..net.futures import call_from_thread, resolve

_Job = Callable[[], Callable[[], None]]


class Workers:
    """As many daemon threads as handlers run at once, each kept for the next handler.

    They are no `concurrent.futures.ThreadPoolExecutor`, for two reasons. A program that ends does
    not wait for them: one may still be in ``input()``. And there is no limit to their number: a
    handler may call the client, whose server then asks another handler, while the first one waits.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Optional[_Job]] = SimpleQueue()  # noqa: UP045 - Python 3.9
        self._count = 0
        self._idle = 0
        self._lock = threading.Lock()

    def call(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        options: Mapping[str, Any],
    ) -> asyncio.Future[Any]:
        """Call a function in a worker; to be called in an event loop, whose future this returns.

        The function sees the context variables of the caller. The future is cancelled where no
        thread can be started any more, because the interpreter ends.
        """
        loop = asyncio.get_running_loop()
        outcome = loop.create_future()
        work = partial(contextvars.copy_context().run, partial(function, *arguments, **options))
        if not self._put(partial(_work_for, outcome, loop, work)):
            outcome.cancel()
        return outcome

    def _put(self, job: _Job) -> bool:
        with self._lock:
            is_expected = self._idle > 0
            if is_expected:
                self._idle -= 1
        if not is_expected:
            try:
                threading.Thread(target=self._run, name="mcpclient-handler", daemon=True).start()
            except RuntimeError:
                return False
        self._jobs.put(job)
        return True

    def _run(self) -> None:
        with self._lock:
            self._count += 1
        while True:
            job = self._jobs.get()
            if job is None:
                return
            tell = job()
            with self._lock:
                self._idle += 1  # before anybody is told, who may have the next job at hand
            tell()
            del job, tell  # they must not live until the next one comes

    def stop(self) -> None:
        """Let each worker end as soon as its handler has returned."""
        with self._lock:
            count, self._count, self._idle = self._count, 0, 0
        for _ in range(count):
            self._jobs.put(None)


def _work_for(
    outcome: asyncio.Future[Any], loop: asyncio.AbstractEventLoop, work: Callable[[], Any]
) -> Callable[[], None]:
    """Run in the worker; return what tells the loop how it went."""
    result: Any = None
    error: BaseException | None = None
    try:
        result = work()
    except Exception as raised:
        error = raised
    except BaseException as raised:  # such as SystemExit: it would end the loop of all clients
        error = RuntimeError(f"a handler raised {type(raised).__name__}")
    if isinstance(error, StopIteration):
        error = RuntimeError("a handler raised StopIteration")  # which no future can hold

    def tell() -> None:
        call_from_thread(loop, resolve, outcome, result, error)

    return tell
