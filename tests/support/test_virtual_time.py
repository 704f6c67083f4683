"""The virtual clock jumps, never overtakes ready callbacks, and never waits in silence."""

from __future__ import annotations

import asyncio

import pytest

from tests.support import virtual_time
from tests.support.virtual_time import Deadlock, EndlessTime, LeftoverTasks, run


def test_sockets_between_parties_of_one_loop_beat_a_timer() -> None:
    """Bytes under way arrive before the clock jumps to a timeout that watches over them."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    async def main() -> tuple[bytes, float]:
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        reader, writer = await asyncio.wait_for(asyncio.open_connection(host, port), timeout=5)
        writer.write(b"hello\n")
        line = await asyncio.wait_for(reader.read(), timeout=5)
        writer.close()
        await writer.wait_closed()
        server.close()
        await server.wait_closed()
        return line, asyncio.get_running_loop().time()

    assert run(main()) == (b"hello\n", 0)


def test_a_deadlock_names_the_waiting_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual_time, "PATIENCE", 0.01)

    async def forever() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        other = asyncio.create_task(forever(), name="other")
        await other

    with pytest.raises(Deadlock) as caught:
        run(main())
    text = str(caught.value)
    assert "main: test_a_deadlock_names_the_waiting_tasks.<locals>.main waits at" in text
    assert "other: test_a_deadlock_names_the_waiting_tasks.<locals>.forever waits at" in text
    assert "test_virtual_time.py:" in text


def test_a_wait_beside_a_repeating_timer_ends() -> None:
    async def tick() -> None:
        while True:  # noqa: ASYNC110 - the repeating timer is the point
            await asyncio.sleep(60)

    async def main() -> None:
        ticking = asyncio.create_task(tick(), name="ticking")
        await asyncio.Event().wait()
        ticking.cancel()

    with pytest.raises(EndlessTime, match=r"3600 virtual seconds[^$]*ticking"):
        run(main(), limit=3600)


def test_a_task_left_pending_is_an_error() -> None:
    async def main() -> None:
        asyncio.get_running_loop().call_later(1, print)
        asyncio.create_task(asyncio.sleep(10), name="forgotten")  # noqa: RUF006

    with pytest.raises(LeftoverTasks, match="forgotten"):
        run(main())
