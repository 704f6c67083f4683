"""Faulty servers, for commands that report faults."""

from __future__ import annotations

import http.server
import ssl
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Callable

from tests.support.subprocesses import TOP

DEMO = str(TOP / "mcpclient" / "testing" / "demo_server.py")
FINE = {"name": "t", "inputSchema": {"type": "object"}}

# A server over stdio in the handshake era, with one part replaced.
STDIO = f"""
import sys; sys.path.insert(0, {str(TOP)!r})
from tests.support.mcp_server import OpenedServer, serve_stdio
tools = %r
serve_stdio(OpenedServer("handshake", %r, capabilities={{}} if tools is None else {{"tools": {{}}}},
                         answers={{"tools/list": {{"tools": tools}}}}))
"""


def python(code: str) -> list[str]:
    return ["--", sys.executable, "-c", code]


def offering(tools: Any, version: str = "2025-11-25", before: str = "") -> list[str]:
    """A server with these tools; None: without any. ``before``: what its program begins with."""
    return python(before + STDIO % (tools, version))


def ending(text: str, code: int = 1) -> list[str]:
    """A server that writes this to stderr, and ends."""
    return python(f"import sys; sys.stderr.write({text!r}); sys.exit({code})")


def refusing(code: int, message: str, data: Any = None) -> list[str]:
    """A server that answers everything with this error."""
    return python(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    m = json.loads(line)\n"
        f"    error = {{'code': {code}, 'message': {message!r}, 'data': {data!r}}}\n"
        "    print(json.dumps({'jsonrpc': '2.0', 'id': m.get('id'), 'error': error}), flush=True)"
    )


BANNER_FIRST = python(
    f"import runpy; print('a \\x1b[1mbanner'); runpy.run_path({DEMO!r}, run_name='__main__')"
)
LOGS_OF_JSON = offering([FINE], before="print('{\"level\": 30}', flush=True)\n")

Handler = Callable[[http.server.BaseHTTPRequestHandler, bytes], None]


@contextmanager
def served(handle: Handler, context: ssl.SSLContext | None = None) -> Iterator[str]:
    """Handle every request like this. Yields host and port."""

    class Endpoint(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            handle(self, self.rfile.read(int(self.headers.get("Content-Length") or 0)))

        do_GET = do_DELETE = do_CONNECT = do_POST

        def log_message(self, *arguments: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def answer(status: int, headers: Mapping[str, str] | None = None, body: str = "") -> Handler:
    """The same answer to everything; ``{host}`` in a header is where it was asked."""

    def handle(request: http.server.BaseHTTPRequestHandler, _: bytes) -> None:
        request.send_response(status)
        for name, value in (headers or {}).items():
            request.send_header(name, value.replace("{host}", request.headers["Host"]))
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body.encode())

    return handle
