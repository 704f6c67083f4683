"""A server over stdio that uses all features of an ordinary session, in both eras.

Its tools: ``fits`` and ``broken`` have output schemas, ``named`` mirrors an argument in a header
of an impossible name, ``secret`` takes a password, ``asks`` asks the client for a form, a message
of a model and the roots (in the handshake era), ``changes`` announces new tools, and ``later`` is
only called as a task.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from tests.support.mcp_server import (
    Json,
    OpenedServer,
    Send,
    send_result,
    send_text,
    serve_stdio,
    text_result,
)

OBJECT = {"type": "object"}
SUM = {**OBJECT, "properties": {"sum": {"type": "number"}}, "required": ["sum"]}


def takes(**properties: Json) -> Json:
    return {**OBJECT, "properties": properties}


TOOLS = [
    {"name": "fits", "inputSchema": OBJECT, "outputSchema": SUM},
    {"name": "broken", "inputSchema": OBJECT, "outputSchema": SUM},
    {"name": "named", "inputSchema": takes(a={"type": "string", "x-mcp-header": "a b"})},
    {"name": "secret", "inputSchema": takes(password={"type": "string", "format": "password"})},
    {"name": "asks", "inputSchema": OBJECT},
    {"name": "changes", "inputSchema": OBJECT},
    {"name": "later", "inputSchema": OBJECT, "execution": {"taskSupport": "required"}},
]
QUESTIONS = ("elicitation/create", "sampling/createMessage", "roots/list")


class FullServer(OpenedServer):
    def call_tool(self, message: Json, name: str, arguments: Json, send: Send) -> None:
        if name in ("fits", "broken"):
            found = {"sum": 42 if name == "fits" else "many"}
            send_result(message, send, {**text_result("42"), "structuredContent": found})
        elif name == "asks":
            self.ask_for(message, send, QUESTIONS[0], params={"message": "?"})
        else:
            if name == "changes":
                send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
                log = {"level": "error", "data": "a line"}
                send({"jsonrpc": "2.0", "method": "notifications/message", "params": log})
            send_text(message, send, name)

    def answered(self, call: Json, send: Send, answer: Json) -> None:
        asked = call.setdefault("asked", [])
        asked.append(answer["error"]["code"])
        if len(asked) < len(QUESTIONS):
            self.ask_for(call, send, QUESTIONS[len(asked)], params={"messages": [], "maxTokens": 1})
        else:
            send_text(call, send, str(asked))


def contents(params: Json) -> Json:
    return {"contents": [{"uri": params["uri"], "text": "a text"}]}


def prompt(params: Json) -> Json:
    return {"messages": [{"role": "user", "content": {"type": "text", "text": "a prompt"}}]}


if __name__ == "__main__":
    print("a line of its log", file=sys.stderr)
    era = sys.argv[1]
    tools = [tool for tool in TOOLS if tool["name"] != "asks" or era == "handshake"]
    serve_stdio(
        FullServer(
            era,
            capabilities={
                "tools": {"listChanged": True},
                **{name: {} for name in ("resources", "prompts", "completions", "logging")},
            },
            answers={
                "ping": {},
                "tools/list": {"tools": tools},
                "resources/list": {"resources": [{"uri": "a:b", "name": "b"}]},
                "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "a:{x}"}]},
                "resources/read": contents,
                "prompts/list": {"prompts": [{"name": "p"}]},
                "prompts/get": prompt,
                "completion/complete": {"completion": {"values": ["x"]}},
                "logging/setLevel": {},
            },
        )
    )
