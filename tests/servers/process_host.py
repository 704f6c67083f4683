"""A program that uses a server and then ends in the way its argument names.

It tells the server's process ids as one line. Ways: ``return`` with the server still running;
``raise``; ``interrupt``, a Ctrl-C while it waits; ``closed``, ``abort()`` after the loop is closed;
``fork``, in which a child ends first and the server must survive that.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
import sys
from pathlib import Path

from mcpclient.errors import ProcessExited
from mcpclient.net.process.server_process import ServerProcess, spawn
from mcpclient.net.process.stopping import StopLadder

IMPATIENT = StopLadder(close_input=0.01, terminate=0.01)
TREE = Path(__file__).with_name("process_tree.py")


class Collector:
    def __init__(self) -> None:
        self.data = b""
        self.changed = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        self.data += data
        self.changed.set()

    def writing_resumed(self) -> None:
        pass

    def process_ended(self, error: ProcessExited) -> None:
        self.changed.set()

    async def expect(self, end: bytes) -> None:
        while not self.data.endswith(end):
            self.changed.clear()
            await self.changed.wait()


async def start(kept: list[ServerProcess]) -> Collector:
    collector = Collector()
    shell = ["sh", "-c", '"$0" "$1" --stubborn; exit $?', sys.executable, str(TREE)]
    kept.append(await spawn(shell, collector, ladder=IMPATIENT))
    await collector.expect(b"\n")
    print(kept[0].pid, collector.data.decode().strip(), flush=True)
    return collector


async def fork(kept: list[ServerProcess]) -> None:
    await start(kept)
    outlive_a_child(kept[0])
    await kept[0].stop()


def outlive_a_child(server: ServerProcess) -> None:
    child = os.fork()
    if child == 0:
        server.abort()
        # As at the end of a program, but not up through a loop that is the parent's.
        atexit._run_exitfuncs()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    os.killpg(server.pid, 0)  # raises if the child has killed it
    print("child", status, flush=True)


async def interrupt(kept: list[ServerProcess]) -> None:
    await start(kept)
    os.kill(os.getpid(), signal.SIGINT)
    await asyncio.Event().wait()


async def fail(kept: list[ServerProcess]) -> None:
    await start(kept)
    raise LookupError("on purpose")


def main(way: str) -> None:
    kept: list[ServerProcess] = []
    if way == "return":
        asyncio.run(start(kept))
    elif way == "raise":
        asyncio.run(fail(kept))
    elif way == "interrupt":
        asyncio.run(interrupt(kept))
    elif way == "fork":
        asyncio.run(fork(kept))
    elif way == "closed":
        asyncio.run(start(kept))
        kept[0].abort()
        kept[0].abort()


if __name__ == "__main__":
    main(sys.argv[1])
