"""A program with open clients over every transport that ends in the way its arguments name.

Arguments: the way, the file for the server's ledger, the port of a `tests.tools.soak.server`.
It tells the ids of its server processes as one line each. On every client a call is in flight and
a subscription open, and where there are pings, the next is an hour away. Ways: ``return``,
``raise``, ``exit``, ``terminate``, ``interrupt``, ``thread`` (a loop that still runs in a daemon
thread), ``linger`` (the same, and the loop has turns left after the servers were killed), and
``many`` (loops that are closed, stopped and left alone, one after the other, in one process).
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import os
import signal
import sys
import threading
from typing import Any

LINGERING: list[asyncio.AbstractEventLoop] = []


def linger() -> None:
    """Let loops see what happened to their servers, and say which calls report that."""
    for loop in LINGERING:
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0.3), loop).result()
        for _, _, calling in KEPT:
            if calling.done():
                print("a call was told of the end", file=sys.stderr)


atexit.register(linger)  # the first one registered is called last

from mcpclient import Client, Subscription  # noqa: E402
from mcpclient.client.connection.client_options import TransportName  # noqa: E402
from mcpclient.client.requests import connection_of  # noqa: E402

FILE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "tools", "soak", "server.py"))
PATHS: tuple[tuple[str, str, TransportName | None], ...] = (
    ("http://127.0.0.1:{}/json", "2026-07-28", None),
    ("http://127.0.0.1:{}/sse", "2025-11-25", None),
    ("http://127.0.0.1:{}/legacy", "2025-11-25", "sse"),
    ("ws://127.0.0.1:{}/ws", "2025-11-25", None),
    ("tcp://127.0.0.1:{}", "2026-07-28", None),
)

Kept = list[tuple[Client, Subscription, "asyncio.Task[Any]"]]


def clients(ledger: str, port: str) -> list[Client]:
    tree = ["sh", "-c", '"$@"; exit $?', "sh", sys.executable, "-S", "-E", FILE, ledger]
    made = [Client(tree, protocol_version="2025-11-25", stderr="discard", keep_alive=3600)]
    for url, version, transport in PATHS:
        made.append(
            Client(url.format(port), protocol_version=version, transport=transport, keep_alive=3600)
        )
    return made


async def use(client: Client, name: str, kept: Kept) -> None:
    """Have a subscription and a call that lasts, and everything the client holds in a cycle."""
    await client.connect()
    subscription = await client.listen(tools=True).open()
    calling = asyncio.ensure_future(client.call_tool("soak", {"token": name, "act": "never"}))
    await client.call_tool("soak", {"token": name, "act": "echo"})
    kept.append((client, subscription, calling))
    client.myself = client  # type: ignore[attr-defined]


async def use_all(kept: Kept) -> None:
    # Of how long callbacks take, the development mode tells on stderr.
    asyncio.get_running_loop().slow_callback_duration = 1000
    made = clients(*sys.argv[2:])
    await asyncio.gather(*(use(client, str(index), kept) for index, client in enumerate(made)))
    print(connection_of(made[0]).session.transport.process_id, flush=True)


async def leave(kept: Kept) -> None:
    await use_all(kept)
    sys.exit(7)


async def die(kept: Kept, number: int) -> None:
    await use_all(kept)
    os.kill(os.getpid(), number)
    await asyncio.sleep(60)


async def fail(kept: Kept) -> None:
    await use_all(kept)
    raise LookupError("on purpose")


def leave_a_thread(kept: Kept) -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    asyncio.run_coroutine_threadsafe(use_all(kept), loop).result()
    return loop


def leave_many(kept: Kept) -> None:
    # asyncio.run, twice; what was kept is dropped in between.
    asyncio.run(use_all(kept))
    asyncio.run(use_all(kept))
    kept.clear()
    gc.collect()
    # Dropped while the loop runs.
    dropped: Kept = []

    async def drop() -> None:
        await use_all(dropped)
        for _, _, calling in dropped:
            calling.cancel()
        await asyncio.wait([calling for _, _, calling in dropped])
        dropped.clear()
        gc.collect()
        await asyncio.sleep(0.01)

    asyncio.run(drop())
    # A loop that is stopped from within and goes on later, to the end.
    loop = asyncio.new_event_loop()

    async def stop() -> None:
        await use_all(kept)
        loop.stop()
        await asyncio.sleep(0)

    stopping = loop.create_task(stop())
    loop.run_forever()
    loop.run_until_complete(stopping)
    running = asyncio.all_tasks(loop)
    for task in running:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*running, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


def main(way: str) -> None:
    if way == "return":
        asyncio.run(use_all(KEPT))
    elif way == "raise":
        asyncio.run(fail(KEPT))
    elif way == "exit":
        asyncio.run(leave(KEPT))
    elif way == "terminate":
        asyncio.run(die(KEPT, signal.SIGTERM))
    elif way == "interrupt":
        asyncio.run(die(KEPT, signal.SIGINT))
    elif way == "thread":
        leave_a_thread(KEPT)
    elif way == "linger":
        LINGERING.append(leave_a_thread(KEPT))
    elif way == "many":
        leave_many(KEPT)


KEPT: Kept = []  # until the interpreter ends

if __name__ == "__main__":
    main(sys.argv[1])
