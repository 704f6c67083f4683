"""A neutral MCP server that answers at once, over stdio or HTTP.

It runs in its own process, imports little, and reads a request with three regular expressions
instead of a JSON parser, so that what a benchmark measures is the client. It is not an example of
a server: it trusts its peer.

Started as a file, which works with every Python from 3.9 on::

    python servers.py stdio [--handshake] [--tools N]
    python servers.py http [--handshake] [--tools N]     # prints its port, then serves

Over HTTP the path chooses the shape of the answer: a POST to a path that holds ``stream`` is
answered with an event stream in chunks, any other with JSON; a path that holds ``counted`` gives
each answer a header of its own; one that holds ``handshake`` knows nothing of the stateless era,
just as the option of that name says it for the whole server. A request to upgrade makes the
connection a WebSocket. Every answer has its date, as other servers send it.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import selectors
import socket
import sys
import threading
import time
from functools import lru_cache

REQUEST_ID = re.compile(rb'"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)')
METHOD = re.compile(rb'"method"\s*:\s*"([^"]*)"')
TOOL = re.compile(rb'"name"\s*:\s*"(echo|blob|notify)"')
MESSAGE = re.compile(rb'"message"\s*:\s*"((?:[^"\\]|\\.)*)"')
COUNT = re.compile(rb'"n"\s*:\s*(\d+)')
INITIALIZE_VERSION = re.compile(rb'"protocolVersion"\s*:\s*"([^"]*)"')
WEBSOCKET_KEY = re.compile(rb"\r\nsec-websocket-key:[ \t]*([^\r]*)", re.IGNORECASE)
WEBSOCKET_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
CONTENT_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)

STATELESS_VERSION = b"2026-07-28"
HANDSHAKE_VERSION = b"2025-11-25"
STATELESS_MARK = b'"io.modelcontextprotocol/protocolVersion"'
CACHEABLE = b'"ttlMs":0,"cacheScope":"public",'
BLOB_LINE = b"The quick brown fox jumps over the lazy dog, again and again.\\n"
READ_SIZE = 1 << 18
UNMASK_BLOCK = 1 << 16


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
        self.waiting = bytearray()
        self.count = 0
        self.unsent = memoryview(b"")
        self.is_websocket = False

    def read(self) -> bool:
        """Read what has arrived and answer every whole request in it; False at the end."""
        try:
            data = self.socket.recv(READ_SIZE)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self.waiting += data
        replies = []
        while True:
            reply = self._next_frame_reply() if self.is_websocket else self._next_reply()
            if reply is None:
                break
            replies.append(reply)
        if replies:
            self.unsent = memoryview(bytes(self.unsent) + b"".join(replies))
        return bool(data) and self.write()

    def write(self) -> bool:
        """Send as much as the socket takes now; False when the client is gone."""
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
        head = bytes(self.waiting[:head_end])
        key_match = WEBSOCKET_KEY.search(head)
        if key_match is not None:
            self.is_websocket = True
            del self.waiting[: head_end + 4]
            return _upgrade(head, key_match[1])
        length_match = CONTENT_LENGTH.search(head)
        end = head_end + 4 + (int(length_match[1]) if length_match else 0)
        if len(self.waiting) < end:
            return None
        body = bytes(self.waiting[head_end + 4 : end])
        del self.waiting[:end]
        if not head.startswith(b"POST "):
            return b"HTTP/1.1 405 Method Not Allowed\r\nallow: POST\r\ncontent-length: 0\r\n\r\n"
        return self._post(head[: head.find(b"\r\n")], body)

    def _next_frame_reply(self) -> bytes | None:
        """The answer to the next frame, which is a whole message or a control frame."""
        if len(self.waiting) < 2:
            return None
        length, start = self.waiting[1] & 0x7F, 2
        if length > 125:
            start = 4 if length == 126 else 10
            length = int.from_bytes(self.waiting[2:start], "big")
        end = start + 4 + length
        if len(self.waiting) < end:
            return None
        opcode = self.waiting[0] & 15
        with memoryview(self.waiting) as view:
            key, masked = bytes(view[start : start + 4]), view[start + 4 : end]
            payload = _unmask(key, masked)
            masked.release()
        del self.waiting[:end]
        if opcode == 8:
            return frame(8, payload)
        if opcode == 9:  # a ping, and its pong
            return frame(10, payload)
        return b"".join(frame(1, reply) for reply in self.answers.reply(payload))

    def _post(self, request_line: bytes, body: bytes) -> bytes:
        replies = self.answers.reply(body, handshake_only=b"handshake" in request_line)
        if not replies:
            return b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n"
        if b"stream" in request_line:
            return _event_stream(replies)
        answer = replies[-1]
        status = b"404 Not Found" if b'"code":-32601' in answer[:200] else b"200 OK"
        date = _date(int(time.time()))
        if b"counted" in request_line:
            self.count += 1
            date += b"x-request-id: %d\r\n" % self.count
        return (
            b"HTTP/1.1 %b\r\n%bcontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
            % (status, date, len(answer), answer)
        )


@lru_cache(1)
def _date(second: int) -> bytes:
    return time.strftime("date: %a, %d %b %Y %H:%M:%S GMT\r\n", time.gmtime(second)).encode()


def _event_stream(replies: list[bytes]) -> bytes:
    events = b"".join(b"event: message\ndata: %b\n\n" % reply for reply in replies)
    return (
        b"HTTP/1.1 200 OK\r\n%bcontent-type: text/event-stream\r\ncache-control: no-cache\r\n"
        b"transfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n"
        % (_date(int(time.time())), len(events), events)
    )


def _upgrade(head: bytes, key: bytes) -> bytes:
    accept = base64.b64encode(hashlib.sha1(key + WEBSOCKET_GUID).digest())
    protocol = b"sec-websocket-protocol: mcp\r\n" if b"mcp" in head else b""
    return (
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        b"sec-websocket-accept: %b\r\n%b\r\n" % (accept, protocol)
    )


def _unmask(key: bytes, masked: memoryview) -> bytes:
    """The payload of a frame; block by block, which for large ones is much faster."""
    parts = []
    for start in range(0, len(masked), UNMASK_BLOCK):
        block = masked[start : start + UNMASK_BLOCK]
        mask = (key * (len(block) // 4 + 1))[: len(block)]
        number = int.from_bytes(block, "little") ^ int.from_bytes(mask, "little")
        parts.append(number.to_bytes(len(block), "little"))
        block.release()
    return b"".join(parts)


def frame(opcode: int, payload: bytes) -> bytes:
    length = len(payload)
    if length < 126:
        return bytes((0x80 | opcode, length)) + payload
    if length < 0x10000:
        return bytes((0x80 | opcode, 126)) + length.to_bytes(2, "big") + payload
    return bytes((0x80 | opcode, 127)) + length.to_bytes(8, "big") + payload


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
