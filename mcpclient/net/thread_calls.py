"""Waiting for what cannot be interrupted, such as a read of a terminal, without holding up the end
of the program.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Callable, TypeVar

T = TypeVar("T")


async def call_in_thread(function: Callable[[], T]) -> T:
    """Return what a function returns in a thread of its own, and raise what it raises.

    When this is cancelled, or the program ends, the thread is left to itself.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if outcome.done():
            return
        if error is None:
            outcome.set_result(result)  # type: ignore[arg-type]  # there was no error
        else:
            outcome.set_exception(error)

    def work() -> None:
        result, failure = None, None
        try:
            result = function()
        except BaseException as error:
            failure = error
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=work, name="mcpclient-call", daemon=True).start()
    return await outcome
