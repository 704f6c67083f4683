"""A server in the same process that has something of everything the inspector shows."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from mcpclient.errors import PeerError
from mcpclient.transports.inprocess import InProcessTransport
from tests.client.scripted_server import HANDSHAKE, Json, ScriptedServer
from tests.support.mcp_server import text_result

__all__ = ["ATTACKS", "HOSTILE", "Showcase", "odd_tools"]

# What would act if it were anything but text.
ATTACKS = (
    "<img src=x onerror=\"window.hacked='img'\">",
    "<script>window.hacked='script'</script>",
    "javascript:window.hacked='url'",
    "</script><script>window.hacked='end'</script>",
    "\u202egnp.exe\u202c",
    "\x1b[31mred\x1b[0m\x07",
    "{{constructor.constructor('window.hacked=1')()}}",
    "__proto__",
    "]]><svg onload=\"window.hacked='svg'\">",
)
HOSTILE = " ".join(ATTACKS)

_IMAGE = (
    "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAYAAAAf8/9hAAAAHUlEQVR42mNk+M9Qz0BFwDhqwKgBowaMGjBqAAAB"
    "bAAC9S5bqQAAAABJRU5ErkJggg=="
)

_SEARCH = {
    "type": "object",
    "required": ["query", "limit"],
    "properties": {
        "query": {"type": "string", "description": "Words to look for", "minLength": 1},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
        "order": {"enum": ["new", "old", None], "title": "Order", "description": "null: as found"},
        "labels": {"type": "array", "items": {"type": "string"}},
        "kinds": {
            "type": "array",
            "uniqueItems": True,
            "items": {"enum": ["issue", "pull request", "discussion"]},
        },
        "author": {
            "type": "object",
            "description": "Who wrote it",
            "properties": {"name": {"type": "string"}, "bot": {"type": "boolean"}},
        },
        "when": {
            "description": "On a day, or in the last days",
            "oneOf": [
                {
                    "title": "day",
                    "type": "object",
                    "required": ["date"],
                    "properties": {"date": {"type": "string", "format": "date"}},
                },
                {
                    "title": "last days",
                    "type": "object",
                    "required": ["days"],
                    "properties": {"days": {"type": "integer", "default": 7}},
                },
            ],
        },
    },
}


def _tool(name: str, description: str, schema: Json | None = None, **more: Any) -> Json:
    return {
        "name": name,
        "description": description,
        "inputSchema": schema or {"type": "object"},
        **more,
    }


TOOLS = [
    _tool(
        "search_issues",
        "Search the issues of a repository.\n\nReturns at most `limit` of them, the best first.",
        _SEARCH,
        title="Search issues",
        annotations={"readOnlyHint": True, "openWorldHint": True},
    ),
    _tool(
        "echo",
        "Say it again.",
        {
            "type": "object",
            "required": ["message"],
            "properties": {"message": {"type": "string"}},
        },
    ),
    _tool(
        "upload",
        "Store a file.",
        {
            "type": "object",
            "required": ["content"],
            "properties": {
                "content": {"type": "string", "contentEncoding": "base64"},
                "mode": {"type": ["string", "null"], "default": None},
                "tree": {"$ref": "#/$defs/node"},
            },
            "$defs": {
                "node": {
                    "type": "object",
                    "properties": {
                        "label": {"type": "string"},
                        "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
                    },
                }
            },
        },
        annotations={"destructiveHint": True},
    ),
    _tool("slow", "Count to three, and wait for ever.", annotations={"idempotentHint": True}),
    _tool("picture", "Return an image, a link and structured content."),
    _tool("fail", "Fail."),
    _tool("refuse", "Answer with an error."),
    _tool("ask_user", "Ask the user for a name and a color."),
    _tool("visit", "Send the user to an address."),
    _tool("ask_model", "Ask a language model."),
    _tool("list_roots", "Say which roots there are."),
    _tool("large", "Return a large result."),
]

MALFORMED: list[Any] = [
    {"description": "A tool without a name", "inputSchema": {"type": "object"}},
    {"name": "no_schema", "description": "A tool without a schema"},
    {"name": "bad_schema", "inputSchema": {"type": "object", "properties": {"a": {"type": 7}}}},
    "not a tool at all",
]


def odd_tools() -> list[Json]:
    """Tools as hostile as tools can be."""

    def odd(name: str, description: str, **properties: Any) -> Json:
        return _tool(name, description, {"type": "object", "properties": properties})

    attack = ATTACKS[0] + ATTACKS[1]
    node: Json = {"type": "object"}
    node["properties"] = {f"child{n}": {"$ref": "#"} for n in range(10)}
    return [
        odd("null_choice", "A choice of nothing.", order={"enum": ["new", "old", None]}),
        odd("only_null", "Nothing else.", order={"enum": [None]}),
        odd("markup", attack, a={"type": "string", "title": attack, "description": attack}),
        odd("objects", "Objects for texts.", a={"title": {"toString": 1}, "description": [1]}),
        _tool("recursive", "Ten times itself.", node),
        odd("prototypes", "Odd names.", __proto__={"type": "string"}, constructor={"type": 7}),
        odd("long", "word " * 2_000_000),
    ]


_FORM = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "title": "Your name"},
        "color": {"type": "string", "enum": ["red", "green", "blue"], "default": "green"},
        "subscribe": {"type": "boolean", "default": True},
    },
}


class Showcase(ScriptedServer):
    """The server. ``tools`` replaces its tools; ``hostile``: every string of its is an attack."""

    def __init__(self, *, tools: list[Any] | None = None, hostile: bool = False) -> None:
        super().__init__(
            {method: getattr(self, name) for method, name in _METHODS.items()},
            version=HANDSHAKE,
            capabilities={
                "tools": {"listChanged": True},
                "resources": {"subscribe": True},
                "prompts": {},
                "completions": {},
                "logging": {},
            },
        )
        self.tools = TOOLS + MALFORMED if tools is None else tools
        self.hostile = hostile
        self.name = HOSTILE if hostile else "showcase"
        self.instructions = HOSTILE if hostile else "Search first, then read."

    @property
    def transport(self) -> InProcessTransport:
        """A new connection to it."""
        return InProcessTransport(self.serve)

    async def _answer_of_the_client(self, method: str, params: Json) -> str:
        answer = await self.ask(f"s{len(self.received)}", method, **params)
        return str(answer.get("result", answer))

    async def _list_tools(self, params: Json) -> Json:
        if self.hostile:
            schema = {
                "type": "object",
                "properties": {
                    attack: {
                        "type": "string",
                        "description": attack,
                        "title": attack,
                        "enum": [attack],
                    }
                    for attack in ATTACKS
                },
            }
            return {
                "tools": [_tool(attack, attack * 3, schema, title=attack) for attack in ATTACKS]
            }
        start = int(params.get("cursor", 0))
        page: Json = {"tools": self.tools[start : start + 2500]}
        if start + 2500 < len(self.tools):
            page["nextCursor"] = str(start + 2500)
        return page

    async def _list_resources(self, params: Json) -> Json:
        if self.hostile:
            return {
                "resources": [
                    {"uri": attack, "name": attack, "mimeType": attack} for attack in ATTACKS
                ]
            }
        return {
            "resources": [
                {"uri": "file:///notes.txt", "name": "notes", "mimeType": "text/plain"},
                {"uri": "file:///logo.png", "name": "logo", "mimeType": "image/png"},
            ]
        }

    async def _list_templates(self, params: Json) -> Json:
        uri = "issue://{owner}/{number}{?full}"
        return {"resourceTemplates": [{"uriTemplate": uri, "name": "An issue"}]}

    async def _list_prompts(self, params: Json) -> Json:
        if self.hostile:
            return {"prompts": [{"name": attack, "description": attack} for attack in ATTACKS]}
        arguments = [
            {"name": "language", "description": "Of the code", "required": True},
            {"name": "style"},
        ]
        return {"prompts": [{"name": "review", "description": "A review", "arguments": arguments}]}

    async def _read_resource(self, params: Json) -> Json:
        uri = params["uri"]
        if uri.endswith(".png"):
            return {"contents": [{"uri": uri, "mimeType": "image/png", "blob": _IMAGE}]}
        return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": f"content of {uri}"}]}

    async def _prompt(self, params: Json) -> Json:
        text = f"Review this {params.get('arguments', {}).get('language')} code."
        return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}

    async def _complete(self, params: Json) -> Json:
        value = params["argument"]["value"]
        found = [each for each in ("python", "pascal", "perl") if each.startswith(value)]
        return {"completion": {"values": found}}

    async def _nothing(self, params: Json) -> Json:
        return {}

    async def _call(self, params: Json) -> Json:
        arguments = params.get("arguments", {})
        if self.hostile:
            content = [{"type": "text", "text": attack} for attack in ATTACKS]
            content.append({"type": "resource_link", "uri": ATTACKS[2], "name": ATTACKS[0]})
            content.append({"type": "image", "data": "PHN2Zy8+", "mimeType": "image/svg+xml"})
            return {"content": content, "structuredContent": {attack: attack for attack in ATTACKS}}
        tool = getattr(self, f"tool_{params['name']}", None)
        result: Json = text_result(str(arguments)) if tool is None else await tool(params)
        return result

    async def tool_slow(self, params: Json) -> Json:
        token = params.get("_meta", {}).get("progressToken")
        for step in (1, 2, 3):
            self.notify(
                "notifications/progress",
                progressToken=token,
                progress=step,
                total=5,
                message="counting",
            )
        await asyncio.get_running_loop().create_future()
        return {}

    async def tool_picture(self, params: Json) -> Json:
        return {
            "content": [
                {"type": "text", "text": "A picture:"},
                {"type": "image", "data": _IMAGE, "mimeType": "image/png"},
                {"type": "resource_link", "uri": "file:///notes.txt", "name": "notes"},
            ],
            "structuredContent": {"width": 16, "height": 16, "tags": ["a", "b"], "alpha": None},
        }

    async def tool_fail(self, params: Json) -> Json:
        return {**text_result("it did not work"), "isError": True}

    async def tool_refuse(self, params: Json) -> Json:
        raise PeerError(-32602, "no such thing", {"id": 7})

    async def tool_ask_user(self, params: Json) -> Json:
        asked = {"message": "Who are you?", "requestedSchema": _FORM}
        return text_result(await self._answer_of_the_client("elicitation/create", asked))

    async def tool_visit(self, params: Json) -> Json:
        asked = {
            "mode": "url",
            "message": "Please pay first.",
            "url": "https://pay.example.com/checkout?id=7",
            "elicitationId": "v1",
        }
        return text_result(await self._answer_of_the_client("elicitation/create", asked))

    async def tool_ask_model(self, params: Json) -> Json:
        message = {"role": "user", "content": {"type": "text", "text": "What is 6 times 7?"}}
        asked = {"messages": [message], "maxTokens": 100, "systemPrompt": "Answer shortly."}
        return text_result(await self._answer_of_the_client("sampling/createMessage", asked))

    async def tool_list_roots(self, params: Json) -> Json:
        return text_result(await self._answer_of_the_client("roots/list", {}))

    async def tool_large(self, params: Json) -> Json:
        return text_result("0123456789" * 100_000)


_METHODS: Mapping[str, str] = {
    "tools/list": "_list_tools",
    "tools/call": "_call",
    "resources/list": "_list_resources",
    "resources/templates/list": "_list_templates",
    "resources/read": "_read_resource",
    "resources/subscribe": "_nothing",
    "resources/unsubscribe": "_nothing",
    "prompts/list": "_list_prompts",
    "prompts/get": "_prompt",
    "completion/complete": "_complete",
    "logging/setLevel": "_nothing",
    "ping": "_nothing",
}
