"""A small MCP server over stdio, in both eras of the protocol, with the standard library alone.

    python3 -m mcpclient.testing.demo_server

It speaks the handshake era (``initialize``; 2024-11-05 to 2025-11-25) and the stateless era
(``server/discover`` and metadata on every request; 2026-07-28), and offers a few tools, resources
and a prompt. The examples of the README and of the guide use it, and so do ``make demo`` and the
tests. It is also an example of a minimal server.
"""

from __future__ import annotations

import io
import json
import sys
import threading

TYPE_CHECKING = False  # type checkers treat it as true; importing typing takes 5 ms
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Callable, Union

    Json = dict[str, Any]
    RequestId = Union[int, str]

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_VERSION = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"

SERVER_INFO = {"name": "demo-server", "title": "Demo server", "version": "1.0.0"}
SERVER: Json = {
    "capabilities": {"tools": {}, "resources": {}, "prompts": {}, "completions": {}},
    "instructions": "Call echo, add, count or fail. Nothing here does any harm.",
}


def schema(required: str, **types: str) -> Json:
    """Return the JSON Schema of an object with properties of simple types."""
    properties = {name: {"type": kind} for name, kind in types.items()}
    return {"type": "object", "properties": properties, "required": required.split()}


def tool(name: str, description: str, takes: Json, **more: Json) -> Json:
    """Return the definition of a tool. ``takes``: the schema of its arguments."""
    return {"name": name, "description": description, "inputSchema": takes, **more}


def listed(name: str, description: str, kind: str, **address: str) -> Json:
    """Return the entry of a resource or of a template, by its address."""
    return {**address, "name": name, "description": description, "mimeType": kind}


SUM = schema("sum", sum="number")
TOOLS: list[Json] = [
    tool("echo", "Say the same again", schema("message", message="string")),
    tool("add", "Add two numbers", schema("a b", a="number", b="number"), outputSchema=SUM),
    tool(
        "count",
        "Count slowly, and report the progress",
        schema("to", to="integer", seconds="number"),
    ),
    tool("fail", "Fail, as tools sometimes do", schema("", reason="string")),
]

# The smallest PNG image there is: one transparent pixel.
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4"
    "2mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
README = "This text is a resource. A client reads it by its URI.\n"

RESOURCES = [
    listed("readme", "A short text", "text/plain", uri="demo://readme"),
    listed("pixel", "A very small image", "image/png", uri="demo://pixel"),
]
TEMPLATES = [
    listed("greeting", "A greeting for anyone", "text/plain", uriTemplate="demo://greeting/{name}")
]
PROMPTS: list[Json] = [
    {
        "name": "haiku",
        "description": "Ask for a haiku",
        "arguments": [
            {"name": "topic", "description": "What it is about", "required": True},
            {"name": "mood", "description": "How it should sound"},
        ],
    }
]
SUGGESTIONS = {"mood": ["calm", "cheerful", "gloomy"], "name": ["Ada", "Alan", "Grace"]}


class Refusal(Exception):
    """A request that gets a JSON-RPC error: its code, its message, and its data, if any."""


class ToolFailure(Exception):
    """A failure inside a tool, which is a result all the same, with ``isError``."""


class DemoServer:
    """A server that gets messages by `receive`, and passes its own to ``send`` from any thread.

    Every tool call has its own thread, so that a slow call delays neither the others nor its own
    cancellation.
    """

    def __init__(self, send: Callable[[Json], None]) -> None:
        self._send = send
        self._initialized = False
        self._cancelled: dict[RequestId, threading.Event] = {}

    def receive(self, message: Json) -> None:
        """Handle one message from the client."""
        method, params = message.get("method"), message.get("params") or {}
        if method == "notifications/cancelled" and params.get("requestId") in self._cancelled:
            self._cancelled[params["requestId"]].set()
        elif method == "tools/call" and "id" in message:
            self._cancelled[message["id"]] = threading.Event()
            threading.Thread(target=self._answer, args=(message["id"], method, params)).start()
        elif isinstance(method, str) and "id" in message:
            self._answer(message["id"], method, params)

    def stop(self) -> None:
        """Cancel the calls that are still running."""
        for cancelled in list(self._cancelled.values()):
            cancelled.set()

    def _answer(self, request_id: RequestId, method: str, params: Json) -> None:
        version = (params.get("_meta") or {}).get(PREFIX + "protocolVersion")
        answered = self._handshake_result if version is None else self._stateless_result
        try:
            outcome: Json = {"result": answered(request_id, method, params)}
        except Refusal as refusal:
            outcome = {"error": dict(zip(("code", "message", "data"), refusal.args))}
        cancelled = self._cancelled.pop(request_id, None)
        if cancelled is None or not cancelled.is_set():
            self._send({"jsonrpc": "2.0", "id": request_id, **outcome})

    def _stateless_result(self, request_id: RequestId, method: str, params: Json) -> Json:
        version = params["_meta"][PREFIX + "protocolVersion"]
        supported = [STATELESS_VERSION, *reversed(HANDSHAKE_VERSIONS)]
        if version != STATELESS_VERSION:
            data = {"supported": supported, "requested": version}
            raise Refusal(-32022, "Unsupported protocol version", data)
        if method == "server/discover":
            about = {PREFIX + "serverInfo": SERVER_INFO}
            result = {"supportedVersions": supported, **SERVER, "_meta": about}
        else:
            result = self._common_result(request_id, method, params)
        cacheable = method.endswith(("/list", "/read", "/discover"))
        hints = {"ttlMs": 0, "cacheScope": "private"} if cacheable else {}
        return {"resultType": "complete", **hints, **result}

    def _handshake_result(self, request_id: RequestId, method: str, params: Json) -> Json:
        if method == "initialize":
            self._initialized = True
            asked = params.get("protocolVersion")
            version = asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
            return {"protocolVersion": version, "serverInfo": SERVER_INFO, **SERVER}
        if method == "ping":
            return {}
        if not self._initialized:
            raise Refusal(-32600, "Send initialize first, or name a revision in _meta")
        return self._common_result(request_id, method, params)

    def _common_result(self, request_id: RequestId, method: str, params: Json) -> Json:
        """Return the result of a method that both eras share."""
        answers: dict[str, Callable[[Json], Json]] = {
            "tools/list": lambda _: {"tools": TOOLS},
            "tools/call": lambda params: self._call(request_id, params),
            "resources/list": lambda _: {"resources": RESOURCES},
            "resources/templates/list": lambda _: {"resourceTemplates": TEMPLATES},
            "resources/read": read,
            "prompts/list": lambda _: {"prompts": PROMPTS},
            "prompts/get": get_prompt,
            "completion/complete": complete,
        }
        if method not in answers:
            raise Refusal(-32601, f"Method not found: {method}")
        return answers[method](params)

    def _call(self, request_id: RequestId, params: Json) -> Json:
        name, arguments = params.get("name"), params.get("arguments") or {}
        try:
            if name == "count":
                return text_result(" ".join(self._count(request_id, params)))
            if name == "add":
                total = number(arguments, "a") + number(arguments, "b")
                return {**text_result(f"{total:g}"), "structuredContent": {"sum": total}}
            if name == "echo":
                return text_result(str(arguments.get("message", "")))
            if name == "fail":
                raise ToolFailure(arguments.get("reason", "it was asked to fail"))
        except ToolFailure as failure:
            return {**text_result(str(failure)), "isError": True}
        raise Refusal(-32602, f"Unknown tool: {name}")

    def _count(self, request_id: RequestId, params: Json) -> Iterator[str]:
        """Count up to ``to``, waiting ``seconds`` before each step, until cancelled.

        A client that sent a token gets progress.
        """
        arguments = params.get("arguments") or {}
        total = int(number(arguments, "to"))
        seconds = number({"seconds": 0.1, **arguments}, "seconds")
        token = (params.get("_meta") or {}).get("progressToken")
        for step in range(1, total + 1):
            if self._cancelled[request_id].wait(seconds):
                return
            if token is not None:
                told = {"progressToken": token, "progress": step, "total": total}
                told["message"] = f"counted to {step}"
                self._send({"jsonrpc": "2.0", "method": "notifications/progress", "params": told})
            yield str(step)


def number(arguments: Json, name: str) -> float:
    """Return a numeric argument. Raises `ToolFailure` for another type."""
    value = arguments.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ToolFailure(f"{name} must be a number")
    return value


def text_result(text: str) -> Json:
    """Return the result of a tool that answers with text."""
    return {"content": [{"type": "text", "text": text}]}


def read(params: Json) -> Json:
    """Return the result of ``resources/read``."""
    uri = str(params.get("uri"))
    if uri == "demo://readme":
        contents: Json = {"mimeType": "text/plain", "text": README}
    elif uri == "demo://pixel":
        contents = {"mimeType": "image/png", "blob": PIXEL}
    elif uri.startswith("demo://greeting/"):
        contents = {"mimeType": "text/plain", "text": f"Hello, {uri.rpartition('/')[2]}!\n"}
    else:
        raise Refusal(-32602, f"Resource not found: {uri}", {"uri": uri})
    return {"contents": [{"uri": uri, **contents}]}


def get_prompt(params: Json) -> Json:
    """Return the result of ``prompts/get``."""
    arguments = params.get("arguments") or {}
    if params.get("name") != "haiku" or "topic" not in arguments:
        raise Refusal(-32602, "There is one prompt, haiku, and it needs a topic")
    mood = f" in a {arguments['mood']} mood" if "mood" in arguments else ""
    text = f"Write a haiku about {arguments['topic']}{mood}."
    return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}


def complete(params: Json) -> Json:
    """Return the result of ``completion/complete``."""
    argument = params.get("argument") or {}
    known = SUGGESTIONS.get(str(argument.get("name")), [])
    values = [value for value in known if value.startswith(argument.get("value", ""))]
    return {"completion": {"values": values, "total": len(values), "hasMore": False}}


def main() -> None:
    """Serve stdin and stdout, one JSON message per line, until stdin ends."""
    writing = threading.Lock()
    lines = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8")

    def send(message: Json) -> None:
        with writing:
            sys.stdout.write(json.dumps(message) + "\n")
            sys.stdout.flush()

    server = DemoServer(send)
    for line in lines:
        server.receive(json.loads(line))
    server.stop()


if __name__ == "__main__":
    main()
