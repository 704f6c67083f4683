"""A server over stdio that asks before it answers.

``name`` asks for a name; ``sleep`` never answers; ``pay`` takes a secret; ``news`` logs its
arguments, and answers with a colour that a terminal would act upon.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.support.mcp_server import Json, OpenedServer, Send, send_text, serve_stdio


def schema(**properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": list(properties)}


TEXT = {"type": "string"}
PAYMENT = schema(amount={"type": "integer"}, card={**TEXT, "writeOnly": True})
TOOLS = [
    {"name": "name", "inputSchema": {"type": "object"}},
    {"name": "sleep", "inputSchema": {"type": "object"}},
    {"name": "pay", "inputSchema": PAYMENT},
    {"name": "news", "inputSchema": schema(text=TEXT, colour={"enum": ["red", "green"]})},
]
ASKED = {
    "mode": "form",
    "message": "Who are you?",
    "requestedSchema": schema(name={**TEXT, "description": "Your name"}),
}


def say(send: Send, words: str) -> None:
    data = {"level": "warning", "logger": "news", "data": words}
    send({"method": "notifications/message", "params": data})


class AskingServer(OpenedServer):
    name = "asking"

    def __init__(self) -> None:
        answers = {"tools/list": {"tools": TOOLS}, "logging/setLevel": {}}
        super().__init__(capabilities={"tools": {}, "logging": {}}, answers=answers)

    def call_tool(self, message: Json, name: str, arguments: Json, send: Send) -> None:
        if name == "name":
            self.ask_for(message, send, "elicitation/create", params=ASKED)
        elif name == "pay":
            send_text(message, send, f"paid {arguments['amount']}")
        elif name == "sleep":
            say(send, "asleep")
        elif name == "news":
            say(send, arguments["text"])
            send_text(message, send, f"\x1b[31m{arguments['colour']}")

    def answered(self, call: Json, send: Send, answer: Json) -> None:
        result = answer["result"]
        said = result.get("content", {}).get("name") or result["action"]
        send_text(call, send, f"hello {said}")


if __name__ == "__main__":
    serve_stdio(AskingServer())
