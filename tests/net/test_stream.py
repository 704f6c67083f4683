from __future__ import annotations

import asyncio
import socket

from mcpclient.net.stream import Stream
from tests.net.peers import PATIENCE, Recorder, serve


async def connect(port: int) -> tuple[Stream, Recorder]:
    recorder = Recorder()
    loop = asyncio.get_running_loop()
    _, stream = await loop.create_connection(lambda: Stream(recorder), "127.0.0.1", port)
    return stream, recorder


def test_a_peer_that_does_not_read_is_noticed() -> None:
    """F-STD-5: paused while the peer does not keep up, and told when it does again."""

    async def scenario() -> None:
        may_read = asyncio.Event()

        async def read_late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await may_read.wait()
            while await reader.read(1 << 20):
                pass

        async with serve(read_late) as port:
            stream, recorder = await connect(port)
            while not stream.paused:
                stream.write(b"x" * 1_000_000)
            may_read.set()
            await recorder.until(lambda recorder: recorder.resumed > 0)
            assert not stream.paused
            stream.abort()
            await recorder.has_ended()

    asyncio.run(asyncio.wait_for(scenario(), PATIENCE))


def test_it_can_be_dropped_after_its_loop_is_closed() -> None:
    """F-LIFE-5: a finalizer may come late; the socket is released all the same."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        loop = asyncio.new_event_loop()
        stream, recorder = loop.run_until_complete(connect(listener.getsockname()[1]))
        loop.close()
        stream.abort()
        stream.abort()
    assert recorder.ends == [None]
