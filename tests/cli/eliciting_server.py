"""A server whose tool asks the user first: for a form, for a visit, or for a model's answer."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.mcp_server import Json, OpenedServer, Send, send_text, serve_stdio

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


class ElicitingServer(OpenedServer):
    """Its tools ask the client, and answer with what came back."""

    def __init__(self) -> None:
        super().__init__(capabilities={"tools": {}})
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ASKED]
        self.answers["tools/list"] = {"tools": tools}

    def call_tool(self, message: Json, name: str, arguments: Json, send: Send) -> None:
        method, params = ASKED[name]
        self.ask_for(message, send, method, params=params)

    def answered(self, call: Json, send: Send, answer: Json) -> None:
        heard = json.dumps(answer.get("result", answer.get("error")))
        send_text(call, send, f"heard {heard}")


if __name__ == "__main__":
    serve_stdio(ElicitingServer())
