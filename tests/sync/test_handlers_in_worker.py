"""F-API-18: the threads in which handlers may block."""

from __future__ import annotations

import asyncio
import contextvars
import threading

import pytest

from mcpclient.sync.handlers import call_in_worker


async def test_handlers_that_block_do_not_wait_for_each_other() -> None:
    """F-API-18: each of ten waits for all others, which a bounded pool would never allow."""
    barrier = threading.Barrier(10)
    await asyncio.gather(*(call_in_worker(barrier.wait, 10) for _ in range(10)))


def test_what_a_handler_returns_and_raises_comes_back() -> None:
    def fail(error: BaseException) -> None:
        raise error

    async def main() -> None:
        assert await call_in_worker(dict, [("a", 1)], b=2) == {"a": 1, "b": 2}
        with pytest.raises(LookupError, match="on purpose"):
            await call_in_worker(fail, LookupError("on purpose"))
        for error in (SystemExit(3), StopIteration()):
            with pytest.raises(RuntimeError, match=f"raised {type(error).__name__}"):
                await call_in_worker(fail, error)

    asyncio.run(main())


def test_a_handler_sees_the_context_of_the_call() -> None:
    """F-API-23: spans, for example, are found there."""
    variable = contextvars.ContextVar("variable", default="")

    async def main() -> str:
        variable.set("mine")
        return str(await call_in_worker(variable.get))

    assert asyncio.run(main()) == "mine"


async def test_what_nobody_waits_for_any_more_is_dropped() -> None:
    go_on = threading.Event()
    future = call_in_worker(go_on.wait)
    future.cancel()
    left = call_in_worker(go_on.wait)
    go_on.set()
    assert await call_in_worker(int) == 0
    del left


async def test_at_the_end_of_the_interpreter_a_handler_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert call_in_worker(int).cancelled()
