"""Worker threads, in which the caller's handlers may block for any time."""

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
    """A pool of daemon threads, one for each handler that runs, reused for later handlers.

    `concurrent.futures.ThreadPoolExecutor` does not fit, for two reasons. A program that ends must
    not wait for the threads: one may still be in ``input()``. And their number must not be limited:
    a handler may call the client, whose server then calls another handler while the first waits.
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
        """Call a function in a worker and return a future of the running event loop.

        The function runs in the caller's context. The future is cancelled if no thread can be
        started any more, because the interpreter is shutting down.
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
                self._idle += 1  # before telling: the caller may have the next job ready
            tell()
            del job, tell  # otherwise they would live until the next job

    def stop(self) -> None:
        """Let each worker end once its handler has returned."""
        with self._lock:
            count, self._count, self._idle = self._count, 0, 0
        for _ in range(count):
            self._jobs.put(None)


def _work_for(
    outcome: asyncio.Future[Any], loop: asyncio.AbstractEventLoop, work: Callable[[], Any]
) -> Callable[[], None]:
    """Run the work; return a function that reports the outcome to the loop."""
    result: Any = None
    error: BaseException | None = None
    try:
        result = work()
    except Exception as raised:
        error = raised
    except BaseException as raised:  # SystemExit, for example, would end the loop of all clients
        error = RuntimeError(f"a handler raised {type(raised).__name__}")
    if isinstance(error, StopIteration):
        error = RuntimeError("a handler raised StopIteration")  # futures cannot hold it

    def tell() -> None:
        call_from_thread(loop, resolve, outcome, result, error)

    return tell
