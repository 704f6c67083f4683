"""A server over stdio for comparing inspectors: many tools, many notifications, or odd schemas.

    python tests/inspector/loaded_server.py [--tools NUMBER] [--odd]

``--tools``: how many it has besides ``echo`` and ``flood``. ``--odd``: its tools are as hostile as
tools can be. ``flood`` sends ``count`` notifications.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.mcp_server import Json, OpenedServer, Send, send_text, serve_stdio

ATTACK = "<img src=x onerror=\"window.hacked='yes'\"><script>window.hacked='yes'</script>"


def tool(name: str, description: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    return {"name": name, "description": description, "inputSchema": schema}


def odd_tools() -> list[Any]:
    node: dict[str, Any] = {"type": "object"}
    node["properties"] = {f"child{n}": {"$ref": "#"} for n in range(10)}
    return [
        tool("null_choice", "A choice of nothing.", order={"enum": ["new", "old", None]}),
        tool("only_null", "Nothing else.", order={"enum": [None]}),
        tool("markup", ATTACK, a={"type": "string", "title": ATTACK, "description": ATTACK}),
        tool("objects", "Objects for texts.", a={"title": {"toString": 1}, "description": [1]}),
        {"name": "recursive", "description": "Ten times itself.", "inputSchema": node},
        tool("prototypes", "Odd names.", __proto__={"type": "string"}, constructor={"type": 7}),
        tool("long", "word " * 2_000_000),
    ]


def tools(count: int, *, odd: bool) -> list[Any]:
    message = {"type": "string", "description": "What to say"}
    return [
        tool("echo", "Say it again.", message=message),
        tool("flood", "Send notifications.", count={"type": "integer"}),
        *(odd_tools() if odd else ()),
        *(tool(f"tool_{number:05}", f"Number {number}.", a=message) for number in range(count)),
    ]


class LoadedServer(OpenedServer):
    name = "loaded"

    def __init__(self, offered: list[Any]) -> None:
        answers: dict[str, Any] = {"tools/list": {"tools": offered}, "logging/setLevel": {}}
        super().__init__(capabilities={"tools": {}, "logging": {}}, answers=answers)

    def call_tool(self, message: Json, name: str, arguments: Json, send: Send) -> None:
        if name == "flood":
            flood(int(arguments["count"]), send)
        send_text(message, send, json.dumps(arguments))


def flood(count: int, send: Send) -> None:
    for number in range(count):
        params = {"level": "info", "data": f"notification {number} of {count}"}
        send({"method": "notifications/message", "params": params})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tools", type=int, default=0)
    parser.add_argument("--odd", action="store_true")
    options = parser.parse_args()
    serve_stdio(LoadedServer(tools(options.tools, odd=options.odd)))


if __name__ == "__main__":
    main()
