"""A server over stdio that asks before it answers.

``name`` asks for a name; ``sleep`` never answers; ``pay`` takes a secret; ``news`` says in the log
what it is told, and answers with a colour that a terminal would act upon.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.support.mcp_server import (
    Json,
    OpenedServer,
    Send,
    send_result,
    serve_stdio,
    text_result,
)


def schema(**properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": list(properties)}


TEXT = {"type": "string"}
PAYMENT = schema(amount={"type": "integer"}, card={**TEXT, "writeOnly": True})
TOOLS = [
    {"name": "name", "inputSchema": {"type": "object"}},
    {"name": "sleep", "inputSchema": {"type": "object"}},
    {
        "name": "pay",
        "inputSchema": PAYMENT,
    },
    {"name": "news", "inputSchema": schema(text=TEXT, colour={"enum": ["red", "green"]})},
]
ASKED = {
    "mode": "form",
    "message": "Who are you?",
    "requestedSchema": schema(name={**TEXT, "description": "Your name"}),
}


def say(send: Send, level: str, words: str) -> None:
    data = {"level": level, "logger": "news", "data": words}
    send({"method": "notifications/message", "params": data})


class AskingServer(OpenedServer):
    name = "asking"

    def __init__(self) -> None:
        answers = {"tools/list": {"tools": TOOLS}, "logging/setLevel": {}}
        super().__init__(capabilities={"tools": {}, "logging": {}}, answers=answers)
        self._asking: dict[str, tuple[Json, Send]] = {}

    def take_other(self, message: Json, params: Json, send: Send) -> None:
        if message["method"] != "tools/call":
            super().take_other(message, params, send)
        name, arguments = params["name"], params["arguments"]
        if name == "name":
            key = f"ask-{message['id']}"
            self._asking[key] = message, send
            send({"id": key, "method": "elicitation/create", "params": ASKED})
        elif name == "pay":
            send_result(message, send, text_result(f"paid {arguments['amount']}"))
        elif name == "sleep":
            say(send, "warning", "asleep")
        elif name == "news":
            say(send, "debug", arguments["text"])
            send_result(message, send, text_result(f"\x1b[31m{arguments['colour']}"))

    def take_answer(self, message: Json) -> None:
        answer = message["result"]
        said = answer.get("content", {}).get("name") or answer["action"]
        send_result(*self._asking.pop(message["id"]), text_result(f"hello {said}"))


if __name__ == "__main__":
    serve_stdio(AskingServer())
