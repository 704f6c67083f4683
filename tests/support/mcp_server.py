"""The words of a test's MCP server, whatever carries it: reactive objects without I/O.

`OpenedServer` is what all of them are built on: it can be opened in either era, answers what its
table says, and refuses the rest. `McpServer` adds a handful of tools. Both take one message by
`receive`, with a ``send`` for whatever belongs to it, which may be called at once, later, or never.
They import nothing of the library, so that a server process starts quickly.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any, Callable, Union

Json = dict[str, Any]
Send = Callable[[Json], None]
Answer = Union[Json, Callable[[Any], Any]]

STATELESS = "2026-07-28"
HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"


class Refusal(Exception):
    """A request is answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message)
        self.error = {"code": code, "message": message, "data": data}


def refusing(code: int, message: str) -> Answer:
    """Return what refuses a request, for the table of a server."""

    def refuse(params: Json) -> Json:
        raise Refusal(code, message)

    return refuse


class OpenedServer:
    """A server that can be opened, and answers whatever is in its table.

    ``era``: ``"handshake"``, ``"stateless"`` or ``"both"``. ``version``: what ``initialize``
    answers (default: what the client offers). ``answers``: by method, a result or a function of the
    params; it returns a result, or None for no answer, or raises `Refusal`. ``received``: every
    message that came.
    """

    name = "test-server"
    instructions: str | None = None

    def __init__(
        self,
        era: str = "handshake",
        version: str | None = None,
        *,
        capabilities: Json | None = None,
        answers: Mapping[str, Answer] | None = None,
    ) -> None:
        self.era = era
        self.version = version
        self.capabilities = capabilities or {}
        self.answers = dict(answers or {})
        self.received: list[Json] = []
        self._asked: dict[Any, tuple[Json, Send]] = {}
        self._last_id = 1000

    def received_methods(self) -> list[str]:
        """The methods of all requests and notifications that came."""
        return [message["method"] for message in self.received if "method" in message]

    def messages(self, method: str) -> list[Json]:
        """The messages that came with this method."""
        return [message for message in self.received if message.get("method") == method]

    def receive(self, message: Json, send: Send) -> None:
        """Receive one message of the client's."""
        self.received.append(message)
        if "method" not in message:
            self.take_answer(message)
        elif "id" in message:
            self.take_request(message, send)

    async def serve(self, end: Any) -> None:
        """Serve an in-process connection, whose `ServerEnd` is given."""
        async for message in end:
            self.receive(message, end.send)

    def ask_for(self, call: Json, send: Send, method: str, **fields: Any) -> None:
        """Send the client a request, whose answer `answered` takes for the call it is asked for."""
        self._last_id += 1
        self._asked[self._last_id] = call, send
        send({"jsonrpc": "2.0", "id": self._last_id, "method": method, **fields})

    def take_answer(self, message: Json) -> None:
        """Receive the client's answer to a request of this server."""
        asked = self._asked.pop(message["id"], None)
        if asked is not None:
            self.answered(*asked, message)

    def answered(self, call: Json, send: Send, answer: Json) -> None:
        """Answer a tool call for which the client was asked: by what came back."""
        send_text(call, send, str(answer.get("result", answer.get("error"))))

    def take_request(self, message: Json, send: Send) -> None:
        """Answer by the table, or as the era wants it."""
        answer = self.answers.get(message["method"])
        try:
            if answer is not None:
                self.give(answer, message, send)
            else:
                self._take_by_era(message, send)
        except Refusal as refusal:
            send({"jsonrpc": "2.0", "id": message["id"], "error": refusal.error})

    def give(self, answer: Answer, message: Json, send: Send) -> None:
        """Send the table's answer to a request."""
        result = answer(message.get("params") or {}) if callable(answer) else answer
        if result is not None:
            send_result(message, send, result)

    def _take_by_era(self, message: Json, send: Send) -> None:
        method, params = message["method"], message.get("params") or {}
        version = (params.get("_meta") or {}).get(_VERSION_KEY)
        if version is None and self.era == "stateless":
            raise Refusal(-32022, "Unsupported protocol version", {"supported": [STATELESS]})
        if version is None and method == "initialize":
            send_result(message, send, self._initialized(params))
        elif version is not None and self.era == "handshake":
            raise Refusal(-32601, "Method not found")
        elif version not in (None, STATELESS):
            raise Refusal(-32022, "Unsupported", {"supported": [STATELESS]})
        elif version is not None and method == "server/discover":
            send_result(message, send, self._discovered())
        else:
            self.take_other(message, params, send)

    def _initialized(self, params: Json) -> Json:
        result = {
            "protocolVersion": self.version or params["protocolVersion"],
            "serverInfo": {"name": self.name, "version": "1"},
            "capabilities": self.capabilities,
        }
        return (
            result if self.instructions is None else {**result, "instructions": self.instructions}
        )

    def _discovered(self) -> Json:
        return {
            "resultType": "complete",
            "supportedVersions": [STATELESS],
            "capabilities": self.capabilities,
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": self.name}},
        }

    def take_other(self, message: Json, params: Json, send: Send) -> None:
        """Answer a request that is neither in the table nor an opening."""
        if message["method"] != "tools/call":
            raise Refusal(-32601, f"Method not found: {message['method']}")
        self.call_tool(message, params["name"], params.get("arguments") or {}, send)

    def call_tool(self, message: Json, name: str, arguments: Json, send: Send) -> None:
        """Answer a call of a tool, by a server that has some."""
        raise Refusal(-32601, "Method not found: tools/call")


class McpServer(OpenedServer):
    """A server with a handful of tools for testing.

    ``pages``: how many pages its list of tools has.

    Tools: ``echo`` says its ``text`` again; ``fail`` reports a failure; ``never`` never answers;
    ``hold`` answers when ``release`` is called or ``of`` calls are held, the latest first;
    ``notify`` sends the notifications in its ``messages`` first; ``progress`` reports ``steps``;
    ``ask`` sends the client the request ``method`` and answers with what came back.
    """

    instructions = "Be gentle."

    def __init__(
        self, era: str = "handshake", version: str | None = None, pages: int | None = None
    ) -> None:
        super().__init__(era, version, capabilities={"tools": {}, "logging": {}})
        self.pages = pages
        self._held: list[tuple[Json, Send]] = []

    def take_other(self, message: Json, params: Json, send: Send) -> None:
        method = message["method"]
        if method in ("ping", "logging/setLevel"):
            send_result(message, send, {})
        elif method == "tools/list":
            self._list_tools(message, params, send)
        else:
            super().take_other(message, params, send)

    def _list_tools(self, message: Json, params: Json, send: Send) -> None:
        tools = [{"name": "echo", "inputSchema": {"type": "object"}}]
        page = int(params.get("cursor", "1"))
        if self.pages is None or page == self.pages:
            send_result(message, send, {"tools": tools})
        else:
            send_result(message, send, {"tools": tools, "nextCursor": str(page + 1)})

    def call_tool(self, message: Json, name: str, arguments: Json, send: Send) -> None:
        if name == "echo":
            send_text(message, send, arguments["text"])
        elif name == "fail":
            content = [{"type": "text", "text": "it failed"}]
            send_result(message, send, {"content": content, "isError": True})
        elif name == "hold":
            self._held.append((message, send))
            if len(self._held) == arguments.get("of"):
                self._release()
        elif name == "release":
            self._release()
            send_text(message, send, "released")
        elif name == "notify":
            for notification in arguments["messages"]:
                send({"jsonrpc": "2.0", **notification})
            send_text(message, send, "notified")
        elif name == "progress":
            self._progress(message, arguments["steps"], send)
        elif name == "ask":
            self.ask_for(message, send, **arguments)
        elif name != "never":
            raise Refusal(-32602, f"Unknown tool: {name}")

    def _release(self) -> None:
        while self._held:
            held, send = self._held.pop()
            send_text(held, send, held["params"]["arguments"]["text"])

    def _progress(self, message: Json, steps: int, send: Send) -> None:
        token = message["params"]["_meta"]["progressToken"]
        for step in range(1, steps + 1):
            params = {"progressToken": token, "progress": step, "total": steps}
            send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        send_text(message, send, "done")


def send_result(message: Json, send: Send, result: Mapping[str, Any]) -> None:
    """Answer a request with a result."""
    send({"jsonrpc": "2.0", "id": message["id"], "result": dict(result)})


def text_result(text: str) -> Json:
    """The result of a tool that answers with text."""
    return {"content": [{"type": "text", "text": text}]}


def send_text(message: Json, send: Send, text: str) -> None:
    """Answer a tool call with text."""
    send_result(message, send, text_result(text))


def serve_stdio(server: OpenedServer) -> None:
    """Serve standard input and output, one message per line, until the input ends."""

    def send(message: Json) -> None:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

    for line in sys.stdin:
        server.receive(json.loads(line), send)
