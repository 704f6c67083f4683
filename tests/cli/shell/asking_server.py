"""A server over stdio that asks before it answers.

``name`` asks for a name; ``sleep`` never answers; ``pay`` takes a secret; ``news`` says in the log
what it is told, and answers with a colour that a terminal would act upon.
"""

from __future__ import annotations

import json
import sys
from typing import Any

Json = dict[str, Any]


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


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def text(words: str) -> Json:
    return {"content": [{"type": "text", "text": words}]}


def say(level: str, words: str) -> None:
    data = {"level": level, "logger": "news", "data": words}
    send(method="notifications/message", params=data)


def call(number: int, name: str, arguments: Json) -> None:
    if name == "name":
        send(id=f"ask-{number}", method="elicitation/create", params=ASKED)
    elif name == "pay":
        send(id=number, result=text(f"paid {arguments['amount']}"))
    elif name == "sleep":
        say("warning", "asleep")
    elif name == "news":
        say("debug", arguments["text"])
        send(id=number, result=text(f"\x1b[31m{arguments['colour']}"))


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        number, method = message.get("id"), message.get("method")
        if method == "initialize":
            told: Json = {"tools": {}, "logging": {}}
            version = message["params"]["protocolVersion"]
            info = {"name": "asking", "version": "1"}
            result = {"protocolVersion": version, "capabilities": told, "serverInfo": info}
            send(id=number, result=result)
        elif method == "tools/list":
            send(id=number, result={"tools": TOOLS})
        elif method == "tools/call":
            call(number, message["params"]["name"], message["params"]["arguments"])
        elif method == "logging/setLevel":
            send(id=number, result={})
        elif method is None and isinstance(number, str):
            answer = message["result"]
            said = answer.get("content", {}).get("name") or answer["action"]
            send(id=int(number.rpartition("-")[2]), result=text(f"hello {said}"))
        elif number is not None:
            send(id=number, error={"code": -32601, "message": f"no {method}"})


if __name__ == "__main__":
    main()
