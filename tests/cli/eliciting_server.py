"""A server whose tool asks the user first: for a form, for a visit, or for a model's answer."""

from __future__ import annotations

import json
import sys
from typing import Any

FORM = {
    "message": "Which table?",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Your name"},
            "seats": {"type": "integer", "minimum": 1, "default": 2},
            "place": {"type": "string", "enum": ["in", "out"], "enumNames": ["Inside", "Outside"]},
            "smoking": {"type": "boolean", "default": False},
        },
        "required": ["name", "place"],
    },
}
VISIT = {
    "mode": "url",
    "message": "Pay first",
    "url": "https://pay.example/cart?id=1",
    "elicitationId": "1",
}
SAMPLE = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "Capital of France?"}}],
    "systemPrompt": "Be short",
    "maxTokens": 10,
}
ASKED = {
    "form": ("elicitation/create", FORM),
    "visit": ("elicitation/create", VISIT),
    "sample": ("sampling/createMessage", SAMPLE),
}


def send(message: dict[str, Any]) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def main() -> None:
    calls: dict[str, Any] = {}
    for line in sys.stdin:
        message = json.loads(line)
        method, identifier = message.get("method"), message.get("id")
        if method == "initialize":
            result = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "asking", "version": "1"},
            }
            send({"id": identifier, "result": result})
        elif method == "tools/list":
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ASKED]
            send({"id": identifier, "result": {"tools": tools}})
        elif method == "tools/call":
            asked, params = ASKED[message["params"]["name"]]
            calls["asked"] = identifier
            send({"id": "asked", "method": asked, "params": params})
        elif method is None and identifier in calls:
            answer = json.dumps(message.get("result", message.get("error")))
            content = [{"type": "text", "text": f"heard {answer}"}]
            send({"id": calls.pop(identifier), "result": {"content": content}})
        elif identifier is not None:
            send({"id": identifier, "error": {"code": -32601, "message": "no"}})


if __name__ == "__main__":
    main()
