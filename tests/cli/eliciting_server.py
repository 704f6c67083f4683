"""A server whose tool asks the user first: for a form, for a visit, or for a model's answer."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.mcp_server import (
    Json,
    OpenedServer,
    Send,
    send_result,
    serve_stdio,
    text_result,
)

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

    def take_other(self, message: Json, params: Json, send: Send) -> None:
        if message["method"] != "tools/call":
            super().take_other(message, params, send)
        asked, asked_params = ASKED[params["name"]]
        self._call = message, send
        send({"id": "asked", "method": asked, "params": asked_params})

    def take_answer(self, message: Json) -> None:
        answer = json.dumps(message.get("result", message.get("error")))
        send_result(*self._call, text_result(f"heard {answer}"))


if __name__ == "__main__":
    serve_stdio(ElicitingServer())
