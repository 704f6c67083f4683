"""F-API-18: the threads in which handlers may block."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Iterator

import pytest

from mcpclient.sync.loop_thread import Workers


@pytest.fixture
def workers() -> Iterator[Workers]:
    made = Workers()
    yield made
    made.stop()


def test_a_worker_is_kept_for_the_next_handler(workers: Workers) -> None:
    """F-API-18: no thread per call."""

    async def main() -> set[str]:
        return {str(await workers.call(threading.get_ident, (), {})) for _ in range(20)}

    assert len(asyncio.run(main())) == 1


def test_handlers_that_block_do_not_wait_for_each_other(workers: Workers) -> None:
    """F-API-18: each of ten waits for all others, which a bounded pool would never allow."""
    barrier = threading.Barrier(10)

    async def main() -> None:
        await asyncio.gather(*(workers.call(barrier.wait, (10,), {}) for _ in range(10)))

    asyncio.run(main())


def test_a_worker_at_work_is_not_free(workers: Workers) -> None:
    """F-API-18: one worker is idle, and three handlers wait for each other."""
    barrier = threading.Barrier(3)

    async def main() -> None:
        assert await workers.call(int, (), {}) == 0
        await asyncio.gather(*(workers.call(barrier.wait, (10,), {}) for _ in range(3)))

    asyncio.run(main())


def test_what_a_handler_returns_and_raises_comes_back(workers: Workers) -> None:
    def fail(error: BaseException) -> None:
        raise error

    async def main() -> None:
        assert await workers.call(dict, ([("a", 1)],), {"b": 2}) == {"a": 1, "b": 2}
        with pytest.raises(LookupError, match="on purpose"):
            await workers.call(fail, (LookupError("on purpose"),), {})
        for error in (SystemExit(3), StopIteration()):
            with pytest.raises(RuntimeError, match=f"raised {type(error).__name__}"):
                await workers.call(fail, (error,), {})

    asyncio.run(main())


def test_a_handler_sees_the_context_of_the_call(workers: Workers) -> None:
    """F-API-23: spans, for example, are found there."""
    variable = contextvars.ContextVar("variable", default="")

    async def main() -> str:
        variable.set("mine")
        return str(await workers.call(variable.get, (), {}))

    assert asyncio.run(main()) == "mine"


def test_what_nobody_waits_for_any_more_is_dropped(workers: Workers) -> None:
    go_on = threading.Event()

    async def main() -> None:
        future = workers.call(go_on.wait, (), {})
        future.cancel()
        left = workers.call(go_on.wait, (), {})
        go_on.set()
        assert await workers.call(int, (), {}) == 0
        del left

    asyncio.run(main())


def test_at_the_end_of_the_interpreter_a_handler_is_left_out(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    async def main() -> None:
        monkeypatch.setattr(threading.Thread, "start", refuse)
        assert workers.call(int, (), {}).cancelled()

    asyncio.run(main())
