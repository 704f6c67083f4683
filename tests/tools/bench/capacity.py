"""How many calls the neutral server answers when no client waits: its own limit, for the report.

A column near this number says more about the server than about the client.
"""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from collections.abc import Callable
from time import perf_counter

from .processes import HttpServer, server_command

REQUEST = (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo",'
    b'"arguments":{"message":"x"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    b'"io.modelcontextprotocol/clientInfo":{"name":"floor","version":"1"},'
    b'"io.modelcontextprotocol/clientCapabilities":{}}}}'
)
BATCH = 50
HEAD = (
    b"POST /json HTTP/1.1\r\nhost: localhost\r\naccept: application/json, text/event-stream\r\n"
    b"content-type: application/json\r\nmcp-protocol-version: 2026-07-28\r\n"
    b"mcp-method: tools/call\r\nmcp-name: echo\r\ncontent-length: %d\r\n\r\n" % len(REQUEST)
)


def stdio_capacity(calls: int) -> float:
    """Calls per second over stdio, all written without waiting."""
    server = subprocess.Popen(
        server_command("stdio"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
    assert server.stdin
    assert server.stdout
    with server, server.stdin, server.stdout:
        reader, writer = server.stdout.fileno(), server.stdin
        return _measure(
            calls, REQUEST + b"\n", writer.write, lambda: os.read(reader, 1 << 18), b"\n"
        )


def http_capacity(calls: int) -> float:
    """Calls per second over one HTTP connection, all written without waiting."""
    with HttpServer() as server, socket.create_connection(("127.0.0.1", server.port)) as peer:
        return _measure(
            calls, HEAD + REQUEST, peer.sendall, lambda: peer.recv(1 << 18), b"HTTP/1.1 "
        )


def _measure(
    calls: int,
    request: bytes,
    write: Callable[[bytes], object],
    read: Callable[[], bytes],
    mark: bytes,
) -> float:
    """Write in a thread and count the marks that come back, the first answer not timed."""
    write(request)
    _count_marks(read, mark, 1)
    batches = calls // BATCH
    start = perf_counter()
    writer = threading.Thread(target=_write_batches, args=(write, request * BATCH, batches))
    writer.start()
    _count_marks(read, mark, batches * BATCH)
    seconds = perf_counter() - start
    writer.join()
    return batches * BATCH / seconds


def _write_batches(write: Callable[[bytes], object], batch: bytes, batches: int) -> None:
    for _ in range(batches):
        write(batch)


def _count_marks(read: Callable[[], bytes], mark: bytes, wanted: int) -> None:
    """Read until so many answers began; a mark may be cut by the end of a read."""
    found, kept = 0, b""
    while found < wanted:
        data = kept + read()
        found += data.count(mark)
        kept = data[len(data) - len(mark) + 1 :] if len(mark) > 1 else b""
