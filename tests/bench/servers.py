"""A neutral MCP server that answers at once, over stdio or HTTP.

It runs in its own process, imports little, and reads a request with three regular expressions
instead of a JSON parser, so that what a benchmark measures is the client. It is not an example of
a server: it trusts its peer.

Started as a file, which works with every Python from 3.9 on::

    python servers.py stdio [--handshake] [--tools N]
    python servers.py http [--handshake] [--tools N]     # prints its port, then serves

Over HTTP the path chooses the shape of the answer: a POST to a path that holds ``stream`` is
answered with an event stream in chunks, any other with JSON; a path that holds ``handshake`` knows
nothing of the stateless era, just as the option of that name says it for the whole server.
"""

from __future__ import annotations

import os
import re
import selectors
import socket
import sys
import threading
from functools import lru_cache

REQUEST_ID = re.compile(rb'"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)')
METHOD = re.compile(rb'"method"\s*:\s*"([^"]*)"')
TOOL = re.compile(rb'"name"\s*:\s*"(echo|blob|notify)"')
MESSAGE = re.compile(rb'"message"\s*:\s*"((?:[^"\\]|\\.)*)"')
COUNT = re.compile(rb'"n"\s*:\s*(\d+)')
INITIALIZE_VERSION = re.compile(rb'"protocolVersion"\s*:\s*"([^"]*)"')
CONTENT_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)

STATELESS_VERSION = b"2026-07-28"
HANDSHAKE_VERSION = b"2025-11-25"
STATELESS_MARK = b'"io.modelcontextprotocol/protocolVersion"'
CACHEABLE = b'"ttlMs":0,"cacheScope":"public",'
BLOB_LINE = b"The quick brown fox jumps over the lazy dog, again and again.\\n"
READ_SIZE = 1 << 18


class Answers:
    """The answers of the server, as complete JSON-RPC messages in bytes."""

    def __init__(self, tools: int = 3, handshake_only: bool = False) -> None:
        self.handshake_only = handshake_only
        names = ["echo", "blob", "notify", *(f"tool_{number}" for number in range(4, tools + 1))]
        definitions = (
            b'{"name":"%b","description":"A tool of the benchmark.","inputSchema":'
            b'{"type":"object","properties":{"message":{"type":"string"},"n":{"type":"integer"}}}}'
            % name.encode()
            for name in names
        )
        self.tools = b"[" + b",".join(definitions) + b"]"

    def reply(self, request: bytes, handshake_only: bool = False) -> list[bytes]:
        """Every message the server sends for this one; empty for a notification or an answer."""
        id_match = REQUEST_ID.search(request)
        method_match = METHOD.search(request)
        if id_match is None or method_match is None:
            return []
        request_id = id_match[1]
        method = method_match[1]
        complete = b'"resultType":"complete",' if STATELESS_MARK in request else b""
        if method == b"tools/call":
            return self._call(request, request_id, complete)
        if method == b"tools/list":
            cacheable = CACHEABLE if complete else b""
            return [_result(request_id, b'%b%b"tools":%b' % (complete, cacheable, self.tools))]
        if method == b"initialize":
            return [_initialize(request, request_id)]
        if method == b"server/discover" and not (handshake_only or self.handshake_only):
            return [_discover(request_id)]
        if method in (b"ping", b"logging/setLevel"):
            return [_result(request_id, complete.rstrip(b","))]
        return [
            b'{"jsonrpc":"2.0","id":%b,"error":{"code":-32601,"message":"Method not found"}}'
            % request_id
        ]

    def _call(self, request: bytes, request_id: bytes, complete: bytes) -> list[bytes]:
        tool_match = TOOL.search(request)
        tool = tool_match[1] if tool_match else b"echo"
        if tool == b"echo":
            message_match = MESSAGE.search(request)
            text = message_match[1] if message_match else b""
            return [_text_result(request_id, complete, text)]
        count_match = COUNT.search(request)
        count = int(count_match[1]) if count_match else 0
        if tool == b"blob":
            return [_text_result(request_id, complete, _blob(count))]
        return [*_notifications(count), _text_result(request_id, complete, b"done")]


def _result(request_id: bytes, members: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"result":{%b}}' % (request_id, members)


def _text_result(request_id: bytes, complete: bytes, text: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"result":{%b"content":[{"type":"text","text":"%b"}]}}' % (
        request_id,
        complete,
        text,
    )


def _initialize(request: bytes, request_id: bytes) -> bytes:
    version_match = INITIALIZE_VERSION.search(request)
    version = version_match[1] if version_match else HANDSHAKE_VERSION
    return _result(
        request_id,
        b'"protocolVersion":"%b","capabilities":{"tools":{},"logging":{}},'
        b'"serverInfo":{"name":"bench","version":"1"}' % min(version, HANDSHAKE_VERSION),
    )


def _discover(request_id: bytes) -> bytes:
    return _result(
        request_id,
        b'"resultType":"complete","supportedVersions":["%b"],'
        b'"capabilities":{"tools":{},"logging":{}},"ttlMs":3600000,"cacheScope":"public",'
        b'"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"bench","version":"1"}}'
        % STATELESS_VERSION,
    )


@lru_cache(maxsize=4)
def _blob(count: int) -> bytes:
    """Text whose JSON form is `count` bytes long: prose with escapes, as tools answer it."""
    lines, rest = divmod(count, len(BLOB_LINE))
    return BLOB_LINE * lines + b"." * rest


@lru_cache(maxsize=4)
def _notifications(count: int) -> tuple[bytes, ...]:
    template = (
        b'{"jsonrpc":"2.0","method":"notifications/message",'
        b'"params":{"level":"info","logger":"bench","data":"note %d"}}'
    )
    return tuple(template % number for number in range(count))


def serve_stdio(answers: Answers) -> None:
    """Answer line after line until the client closes the server's standard input."""
    waiting = b""
    while True:
        data = os.read(0, READ_SIZE)
        if not data:
            return
        *lines, waiting = (waiting + data).split(b"\n")
        replies = [reply for line in lines for reply in answers.reply(line)]
        if replies:
            replies.append(b"")
            _write_all(1, b"\n".join(replies))


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


class HttpConnection:
    """One accepted connection: requests in, answers out, kept alive until the client closes."""

    def __init__(self, connection: socket.socket, answers: Answers) -> None:
        self.socket = connection
        self.answers = answers
        self.waiting = b""
        self.unsent = memoryview(b"")

    def read(self) -> bool:
        """Take what has arrived and answer every whole request in it; False at the end."""
        try:
            data = self.socket.recv(READ_SIZE)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self.waiting += data
        replies = []
        while True:
            reply = self._next_reply()
            if reply is None:
                break
            replies.append(reply)
        if replies:
            self.unsent = memoryview(bytes(self.unsent) + b"".join(replies))
        return bool(data) and self.write()

    def write(self) -> bool:
        """Send what the socket takes now; False when the client is gone."""
        try:
            while self.unsent:
                self.unsent = self.unsent[self.socket.send(self.unsent) :]
        except BlockingIOError:
            pass
        except OSError:
            return False
        return True

    def _next_reply(self) -> bytes | None:
        head_end = self.waiting.find(b"\r\n\r\n")
        if head_end < 0:
            return None
        head = self.waiting[:head_end]
        length_match = CONTENT_LENGTH.search(head)
        end = head_end + 4 + (int(length_match[1]) if length_match else 0)
        if len(self.waiting) < end:
            return None
        body = self.waiting[head_end + 4 : end]
        self.waiting = self.waiting[end:]
        if not head.startswith(b"POST "):
            return b"HTTP/1.1 405 Method Not Allowed\r\nallow: POST\r\ncontent-length: 0\r\n\r\n"
        return self._post(head[: head.find(b"\r\n")], body)

    def _post(self, request_line: bytes, body: bytes) -> bytes:
        replies = self.answers.reply(body, handshake_only=b"handshake" in request_line)
        if not replies:
            return b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n"
        if b"stream" in request_line:
            return _event_stream(replies)
        answer = replies[-1]
        status = b"404 Not Found" if b'"code":-32601' in answer[:200] else b"200 OK"
        return b"HTTP/1.1 %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (
            status,
            len(answer),
            answer,
        )


def _event_stream(replies: list[bytes]) -> bytes:
    events = b"".join(b"event: message\ndata: %b\n\n" % reply for reply in replies)
    return (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n"
        b"transfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(events), events)
    )


def serve_http(answers: Answers) -> None:
    """Serve on a free loopback port, printed first, until standard input is closed."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    listener.setblocking(False)
    print(listener.getsockname()[1], flush=True)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    while True:
        for key, events in selector.select():
            if key.data is None:
                _accept(listener, selector, answers)
            else:
                _serve_connection(key.data, events, selector)


def _exit_with_parent() -> None:
    while os.read(0, 1024):
        pass
    os._exit(0)


def _accept(listener: socket.socket, selector: selectors.BaseSelector, answers: Answers) -> None:
    try:
        accepted, _ = listener.accept()
    except OSError:
        return
    accepted.setblocking(False)
    accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    selector.register(accepted, selectors.EVENT_READ, HttpConnection(accepted, answers))


def _serve_connection(
    connection: HttpConnection, events: int, selector: selectors.BaseSelector
) -> None:
    had_unsent = bool(connection.unsent)
    alive = connection.read() if events & selectors.EVENT_READ else connection.write()
    if not alive:
        selector.unregister(connection.socket)
        connection.socket.close()
    elif bool(connection.unsent) != had_unsent:
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if connection.unsent else 0)
        selector.modify(connection.socket, wanted, connection)


def main(arguments: list[str]) -> None:
    """Run the server that the command line asks for."""
    tools = int(arguments[arguments.index("--tools") + 1]) if "--tools" in arguments else 3
    answers = Answers(tools, handshake_only="--handshake" in arguments)
    if arguments[0] == "stdio":
        serve_stdio(answers)
    else:
        serve_http(answers)


if __name__ == "__main__":
    main(sys.argv[1:])
