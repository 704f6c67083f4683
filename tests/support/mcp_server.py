"""What a test's MCP server says, whatever carries it: one reactive object without I/O.

`McpServer.receive` takes one message and a ``send`` for whatever belongs to it, which may be called
at once, later, or never. It speaks the handshake era, the stateless era, or both. It imports
nothing of the library, so that a server process starts quickly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable

__all__ = ["STATELESS", "Json", "McpServer", "Send"]

Json = dict[str, Any]
Send = Callable[[Json], None]

STATELESS = "2026-07-28"
HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"


class McpServer:
    """A server with a handful of tools for testing.

    ``era``: ``"handshake"``, ``"stateless"`` or ``"both"``. ``version``: what ``initialize``
    answers (default: what the client offers). ``received``: every message that came.

    Tools: ``echo`` says its ``text`` again; ``fail`` reports a failure; ``never`` never answers;
    ``hold`` answers when ``release`` is called or ``of`` calls are held, the latest first;
    ``notify`` sends the notifications in its ``messages`` first; ``progress`` reports ``steps``;
    ``ask`` sends the client the request ``method`` and answers with what came back.
    """

    def __init__(
        self, era: str = "handshake", version: str | None = None, pages: int | None = None
    ) -> None:
        self.era = era
        self.version = version
        self.pages = pages
        self.received: list[Json] = []
        self.answers: dict[str, Json] = {}
        self._held: list[tuple[Json, Send]] = []
        self._asked: dict[Any, tuple[Json, Send]] = {}
        self._next_id = 1000

    def received_methods(self) -> list[str]:
        """The methods of all requests and notifications that came."""
        return [message["method"] for message in self.received if "method" in message]

    def messages(self, method: str) -> list[Json]:
        """The messages that came with this method."""
        return [message for message in self.received if message.get("method") == method]

    def receive(self, message: Json, send: Send) -> None:
        """Take one message of the client's."""
        self.received.append(message)
        if "method" not in message:
            self._take_answer(message)
        elif "id" in message:
            self._take_request(message, send)

    def _take_answer(self, message: Json) -> None:
        asked = self._asked.pop(message["id"], None)
        if asked is not None:
            _text(*asked, str(message.get("result", message.get("error"))))

    def _take_request(self, message: Json, send: Send) -> None:
        method = message["method"]
        params = message.get("params") or {}
        meta = params.get("_meta") or {}
        if method in self.answers:
            send({"jsonrpc": "2.0", "id": message["id"], **self.answers[method]})
        elif _VERSION_KEY in meta:
            self._take_stateless(message, params, meta[_VERSION_KEY], send)
        elif self.era == "stateless":
            data = {"supported": [STATELESS]}
            _error(message, send, -32022, "Unsupported protocol version", data)
        elif method == "initialize":
            result: Json = {
                "protocolVersion": self.version or params["protocolVersion"],
                "serverInfo": {"name": "test-server", "version": "1"},
                "capabilities": {"tools": {}, "logging": {}},
                "instructions": "Be gentle.",
            }
            _result(message, send, result)
        else:
            self._take_common(message, params, send)

    def _take_stateless(self, message: Json, params: Json, version: str, send: Send) -> None:
        if self.era == "handshake":
            _error(message, send, -32601, "Method not found")
        elif version != STATELESS:
            _error(message, send, -32022, "Unsupported", {"supported": [STATELESS]})
        elif message["method"] == "server/discover":
            result = {
                "supportedVersions": [STATELESS],
                "capabilities": {"tools": {}},
                "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "test-server"}},
            }
            _result(message, send, {"resultType": "complete", **result})
        else:
            self._take_common(message, params, send)

    def _take_common(self, message: Json, params: Json, send: Send) -> None:
        method = message["method"]
        if method in ("ping", "logging/setLevel"):
            _result(message, send, {})
        elif method == "tools/list":
            self._list_tools(message, params, send)
        elif method == "tools/call":
            self._call(message, params["name"], params.get("arguments") or {}, send)
        else:
            _error(message, send, -32601, f"Method not found: {method}")

    def _list_tools(self, message: Json, params: Json, send: Send) -> None:
        tools = [{"name": "echo", "inputSchema": {"type": "object"}}]
        page = int(params.get("cursor", "1"))
        if self.pages is None or page == self.pages:
            _result(message, send, {"tools": tools})
        else:
            _result(message, send, {"tools": tools, "nextCursor": str(page + 1)})

    def _call(self, message: Json, name: str, arguments: Json, send: Send) -> None:
        if name == "echo":
            _text(message, send, arguments["text"])
        elif name == "fail":
            content = [{"type": "text", "text": "it failed"}]
            _result(message, send, {"content": content, "isError": True})
        elif name == "hold":
            self._held.append((message, send))
            if len(self._held) == arguments.get("of"):
                self._release()
        elif name == "release":
            self._release()
            _text(message, send, "released")
        elif name == "notify":
            for notification in arguments["messages"]:
                send({"jsonrpc": "2.0", **notification})
            _text(message, send, "notified")
        elif name == "progress":
            self._progress(message, arguments["steps"], send)
        elif name == "ask":
            self._ask(message, arguments, send)
        elif name != "never":
            _error(message, send, -32602, f"Unknown tool: {name}")

    def _release(self) -> None:
        while self._held:
            held, send = self._held.pop()
            _text(held, send, held["params"]["arguments"]["text"])

    def _progress(self, message: Json, steps: int, send: Send) -> None:
        token = message["params"]["_meta"]["progressToken"]
        for step in range(1, steps + 1):
            params = {"progressToken": token, "progress": step, "total": steps}
            send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        _text(message, send, "done")

    def _ask(self, message: Json, arguments: Json, send: Send) -> None:
        self._next_id += 1
        self._asked[self._next_id] = (message, send)
        request = {"jsonrpc": "2.0", "id": self._next_id, "method": arguments["method"]}
        if "params" in arguments:
            request["params"] = arguments["params"]
        send(request)


def _result(message: Json, send: Send, result: Mapping[str, Any]) -> None:
    send({"jsonrpc": "2.0", "id": message["id"], "result": dict(result)})


def _text(message: Json, send: Send, text: str) -> None:
    _result(message, send, {"content": [{"type": "text", "text": text}]})


def _error(message: Json, send: Send, code: int, text: str, data: Any = None) -> None:
    error = {"code": code, "message": text, "data": data}
    send({"jsonrpc": "2.0", "id": message["id"], "error": error})
