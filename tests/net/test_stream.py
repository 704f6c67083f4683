from __future__ import annotations

import asyncio
import socket
import struct
from concurrent.futures import ThreadPoolExecutor

from mcpclient.net.stream import HeldTransport, Stream, read_buffer
from tests.net.peers import PATIENCE, Recorder, echo, serve


async def connect(port: int) -> tuple[Stream, Recorder]:
    recorder = Recorder()
    loop = asyncio.get_running_loop()
    _, stream = await loop.create_connection(lambda: Stream(recorder), "127.0.0.1", port)
    return stream, recorder


async def test_bytes_go_both_ways_and_the_end_is_told_once() -> None:
    """F-WS-1, F-STD-8: data as it comes, then the end without an error."""
    async with serve(echo) as port:
        stream, recorder = await connect(port)
        stream.write(b"hello")
        await recorder.has(b"hello")
        assert not stream.ended
        stream.close()
        await recorder.has_ended()
        assert recorder.ends == [None]
        assert stream.ended
        stream.write(b"ignored")
        stream.close()
        stream.abort()


async def test_a_reset_is_told() -> None:
    """F-LIFE-7: the error of the operating system is passed on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        _stream, recorder = await connect(server.getsockname()[1])
        # No transport of asyncio: those of Windows send a proper end before they close.
        peer, _ = server.accept()
        # Without any lingering, the end of a connection is a reset.
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.close()
        await recorder.has_ended()
        assert len(recorder.ends) == 1
        assert isinstance(recorder.ends[0], OSError)


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


def test_a_thread_reads_into_one_buffer() -> None:
    """F-API-18: which no other thread, with an event loop of its own, reads into."""
    with ThreadPoolExecutor(1) as other_thread:
        assert read_buffer() is read_buffer()
        assert other_thread.submit(read_buffer).result() is not read_buffer()


async def test_the_end_is_waited_for_and_then_made() -> None:
    """F-STD-8: a peer that does not read what was written cannot keep a connection open."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        stream, recorder = await connect(server.getsockname()[1])
        stream.write(b"x" * 50_000_000)
        stream.close()
        assert not stream.ended
        await stream.wait_closed(0.01)
        assert stream.ended and len(recorder.ends) == 1
        await stream.wait_closed(PATIENCE)


async def test_a_connection_without_tls_has_no_certificate() -> None:
    """F-HTTP-15: nothing binds a login to it."""
    held = HeldTransport()
    assert held.certificate == b""
    loop = asyncio.get_running_loop()
    ours, theirs = socket.socketpair()
    _, stream = await loop.create_connection(lambda: Stream(Recorder()), sock=ours)
    assert stream.certificate == b""
    stream.abort()
    theirs.close()
