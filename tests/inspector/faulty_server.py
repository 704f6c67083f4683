"""A server over stdio that misbehaves, in another way with each of its tools.

    python tests/inspector/faulty_server.py [--never-opens] [--malformed]

``--never-opens``: it does not answer the first request. ``--malformed``: its list of tools and its
capabilities violate the protocol as well.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Callable

OBJECT = {"type": "object"}
OUTPUT = {"type": "object", "required": ["count"], "properties": {"count": {"type": "integer"}}}
TRACEBACK = """Traceback (most recent call last):
  File "server.py", line 3, in call
    return table[name]
           ~~~~~^^^^^^
KeyError: 'name'
"""


def put(text: str | bytes) -> None:
    line = text.encode() if isinstance(text, str) else text
    os.write(1, line + b"\n")


def send(**message: Any) -> None:
    put(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")))


def answer(identity: Any, **result: Any) -> None:
    send(id=identity, result=result or {"content": []})


def say(level: str, data: Any) -> None:
    send(method="notifications/message", params={"level": level, "logger": "db", "data": data})


# What each tool does with the id of its call before it is answered properly.
BEFORE: dict[str, Callable[[Any], None]] = {
    "banner": lambda _: put("Server started on port 3000"),
    "broken_json": lambda _: put('{"jsonrpc": "2.0", "method": "notifications/x", "params": {'),
    "not_utf8": lambda _: put(b"caf\xe9 is open"),
    "other_json": lambda _: put('{"event":"ready"}'),
    "unknown_id": lambda _: answer(4711),
    "text_id": lambda identity: answer(str(identity)),
    "twice": lambda identity: answer(identity, content=[{"type": "text", "text": "first"}]),
    "no_jsonrpc": lambda _: put('{"method":"notifications/resources/list_changed"}'),
    "odd_params": lambda _: send(method="notifications/message", params=["list"]),
    "odd_method": lambda _: send(method=["list"]),
    "null_id": lambda _: send(id=None, method="roots/list"),
    "both": lambda _: send(id="x", result={}, error={"code": 1, "message": "m"}),
    "logs": lambda _: log(),
    "traceback": lambda _: print_traceback(),
    "list_changed": lambda _: send(method="notifications/prompts/list_changed"),
    "updated": lambda _: send(method="notifications/resources/updated", params={"uri": "a:b"}),
    "unknown_token": lambda _: progress("nobody's", 1),
    "backwards": lambda _: go_backwards(),
    "odd_level": lambda _: say("loud", "x"),
    "odd_question": lambda _: send(id="q1", method="tools/call", params={}),
    "nested_form": lambda _: ask_form({"type": "object", "properties": {}}),
    "odd_form": lambda _: ask_form({"type": "strnig"}),
    "url_question": lambda _: send(
        id="q3", method="elicitation/create", params={"mode": "url", "message": "m", "url": "x"}
    ),
    "odd_sampling": lambda _: send(id="q4", method="sampling/createMessage", params={}),
}

# What each tool answers instead.
INSTEAD: dict[str, Callable[[Any], None]] = {
    "no_content": lambda identity: answer(identity, text="hello"),
    "odd_block": lambda identity: answer(identity, content=["hello"]),
    "odd_error": lambda identity: send(id=identity, error={"code": "E1", "message": "no"}),
    "nan": lambda identity: answer(
        identity, content=[], structuredContent={"ratio": float("nan"), "most": float("inf")}
    ),
    "breaks_schema": lambda identity: answer(
        identity, content=[], structuredContent={"count": "many"}
    ),
    "json_text": lambda identity: answer(
        identity, content=[{"type": "text", "text": '{"a":{"b":[1,2]}}'}]
    ),
    "string_content": lambda identity: answer(identity, content="hello"),
    "unknown_block": lambda identity: answer(identity, content=[{"type": "vidoe", "url": "x"}]),
    "no_mime_type": lambda identity: answer(identity, content=[{"type": "image", "data": "aGk="}]),
    "not_base64": lambda identity: answer(
        identity, content=[{"type": "audio", "data": "no!", "mimeType": "audio/wav"}]
    ),
    "odd_resource": lambda identity: answer(
        identity, content=[{"type": "resource", "resource": {"uri": "a:b"}}]
    ),
    "odd_link": lambda identity: answer(identity, content=[{"type": "resource_link", "name": "n"}]),
    "odd_priority": lambda identity: answer(
        identity, content=[{"type": "text", "text": "t", "annotations": {"priority": "high"}}]
    ),
    "is_error_yes": lambda identity: answer(identity, content=[], isError="yes"),
    "structured_list": lambda identity: answer(identity, content=[], structuredContent=[1]),
    "twofold": lambda identity: answer(
        identity, content=[{"type": "text", "text": '{"count": 1}'}], structuredContent={"count": 1}
    ),
    "not_structured": lambda identity: answer(identity, content=[]),
    "silent": lambda identity: None,
    "crash": lambda identity: crash(),
}


TOKEN: list[Any] = [None]  # of the call at hand


def progress(token: Any, value: Any) -> None:
    send(method="notifications/progress", params={"progressToken": token, "progress": value})


def go_backwards() -> None:
    progress(TOKEN[0], 2)
    progress(TOKEN[0], 1)


def ask_form(member: Any) -> None:
    form = {"type": "object", "properties": {"place": member}}
    send(id="q2", method="elicitation/create", params={"message": "m", "requestedSchema": form})


def log() -> None:
    say("info", "all is well")
    say("error", "the disk\n  is full")


def print_traceback() -> None:
    os.write(2, TRACEBACK.encode())


def crash() -> None:
    print_traceback()
    os._exit(3)


def tools() -> list[Any]:
    named: list[Any] = [{"name": name, "inputSchema": OBJECT} for name in (*BEFORE, *INSTEAD)]
    for tool in named:
        if tool["name"] in ("breaks_schema", "not_structured"):
            tool["outputSchema"] = OUTPUT
    infinite = {"type": "number", "default": float("inf")}
    named.append(
        {"name": "infinite_default", "inputSchema": {**OBJECT, "properties": {"most": infinite}}}
    )
    if "--malformed" not in sys.argv:
        return named
    return [
        *named,
        {"name": "bad name", "inputSchema": OBJECT},
        {"name": "bad_schema", "inputSchema": {**OBJECT, "properties": {"a": {"type": 7}}}},
        {"name": "no_schema"},
        {"name": "banner", "inputSchema": OBJECT},
        {"title": "without a name", "inputSchema": OBJECT},
    ]


def respond(message: Any) -> None:
    method, identity = message.get("method"), message.get("id")
    if method == "initialize":
        capabilities: dict[str, Any] = {"tools": {}, "logging": {}}
        if "--malformed" in sys.argv:
            capabilities["experimental"] = {"load": float("nan")}
        send(
            id=identity,
            result={
                "protocolVersion": "2025-11-25",
                "capabilities": capabilities,
                "serverInfo": {"name": "faulty", "title": "Faulty Server", "version": "1"},
            },
        )
    elif method == "tools/list":
        answer(identity, tools=tools())
    elif method == "tools/call":
        name = message["params"]["name"]
        TOKEN[0] = message["params"].get("_meta", {}).get("progressToken")
        BEFORE.get(name, lambda _: None)(identity)
        INSTEAD.get(name, answer)(identity)
    elif identity is not None and method is not None:
        answer(identity)


def main() -> None:
    for line in sys.stdin:
        if "--never-opens" not in sys.argv:
            respond(json.loads(line))


if __name__ == "__main__":
    main()
