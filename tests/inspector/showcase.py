"""A server in the same process that has something of everything the inspector shows."""

from __future__ import annotations

import asyncio
from typing import Any

from mcpclient.errors import PeerError
from mcpclient.transports.inprocess import InProcessTransport
from tests.client.scripted_server import HANDSHAKE, Json, ScriptedServer
from tests.support.mcp_server import text_result

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
        {"type": "object", "required": ["message"], "properties": {"message": {"type": "string"}}},
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


_ANSWERS: Json = {
    **{each: {} for each in ("resources/subscribe", "resources/unsubscribe")},
    **{each: {} for each in ("logging/setLevel", "ping")},
    "resources/list": {
        "resources": [
            {"uri": "file:///notes.txt", "name": "notes", "mimeType": "text/plain"},
            {"uri": "file:///logo.png", "name": "logo", "mimeType": "image/png"},
        ]
    },
    "resources/templates/list": {
        "resourceTemplates": [
            {"uriTemplate": "issue://{owner}/{number}{?full}", "name": "An issue"}
        ]
    },
    "prompts/list": {
        "prompts": [
            {
                "name": "review",
                "description": "A review",
                "arguments": [
                    {"name": "language", "description": "Of the code", "required": True},
                    {"name": "style"},
                ],
            }
        ]
    },
}

# Results of tools, and their requests to the client.
_RESULTS: Json = {
    "picture": {
        "content": [
            {"type": "text", "text": "A picture:"},
            {"type": "image", "data": _IMAGE, "mimeType": "image/png"},
            {"type": "resource_link", "uri": "file:///notes.txt", "name": "notes"},
        ],
        "structuredContent": {"width": 16, "height": 16, "tags": ["a", "b"], "alpha": None},
    },
    "fail": {**text_result("it did not work"), "isError": True},
    "large": text_result("0123456789" * 100_000),
}
_ASKED: dict[str, tuple[str, Json]] = {
    "ask_user": ("elicitation/create", {"message": "Who are you?", "requestedSchema": _FORM}),
    "visit": (
        "elicitation/create",
        {
            "mode": "url",
            "message": "Please pay first.",
            "url": "https://pay.example.com/checkout?id=7",
            "elicitationId": "v1",
        },
    ),
    "ask_model": (
        "sampling/createMessage",
        {
            "messages": [
                {"role": "user", "content": {"type": "text", "text": "What is 6 times 7?"}}
            ],
            "maxTokens": 100,
            "systemPrompt": "Answer shortly.",
        },
    ),
    "list_roots": ("roots/list", {}),
}


def _hostile_answers() -> Json:
    properties = {
        attack: {"type": "string", "description": attack, "title": attack, "enum": [attack]}
        for attack in ATTACKS
    }
    schema = {"type": "object", "properties": properties}
    content = [{"type": "text", "text": attack} for attack in ATTACKS]
    content.append({"type": "resource_link", "uri": ATTACKS[2], "name": ATTACKS[0]})
    content.append({"type": "image", "data": "PHN2Zy8+", "mimeType": "image/svg+xml"})
    return {
        "tools/list": {
            "tools": [_tool(attack, attack * 3, schema, title=attack) for attack in ATTACKS]
        },
        "tools/call": {"content": content, "structuredContent": dict(zip(ATTACKS, ATTACKS))},
        "resources/list": {
            "resources": [{"uri": each, "name": each, "mimeType": each} for each in ATTACKS]
        },
        "prompts/list": {"prompts": [{"name": each, "description": each} for each in ATTACKS]},
    }


class Showcase(ScriptedServer):
    """The server. ``tools`` replaces its tools; ``hostile``: every string of its is an attack."""

    def __init__(self, *, tools: list[Any] | None = None, hostile: bool = False) -> None:
        answers = {
            **_ANSWERS,
            "tools/list": self._list_tools,
            "tools/call": self._call,
            "resources/read": self._read_resource,
            "prompts/get": self._prompt,
            "completion/complete": self._complete,
        }
        super().__init__(
            {**answers, **_hostile_answers()} if hostile else answers,
            version=HANDSHAKE,
            capabilities={
                "tools": {"listChanged": True},
                "resources": {"subscribe": True},
                **{name: {} for name in ("prompts", "completions", "logging")},
            },
        )
        self.tools = TOOLS + MALFORMED if tools is None else tools
        self.name = HOSTILE if hostile else "showcase"
        self.instructions = HOSTILE if hostile else "Search first, then read."

    @property
    def transport(self) -> InProcessTransport:
        """A new connection to it."""
        return InProcessTransport(self.serve)

    def _list_tools(self, params: Json) -> Json:
        start = int(params.get("cursor", 0))
        page: Json = {"tools": self.tools[start : start + 2500]}
        if start + 2500 < len(self.tools):
            page["nextCursor"] = str(start + 2500)
        return page

    def _read_resource(self, params: Json) -> Json:
        uri = params["uri"]
        if uri.endswith(".png"):
            return {"contents": [{"uri": uri, "mimeType": "image/png", "blob": _IMAGE}]}
        return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": f"content of {uri}"}]}

    def _prompt(self, params: Json) -> Json:
        text = f"Review this {params.get('arguments', {}).get('language')} code."
        return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}

    def _complete(self, params: Json) -> Json:
        value = params["argument"]["value"]
        found = [each for each in ("python", "pascal", "perl") if each.startswith(value)]
        return {"completion": {"values": found}}

    async def _call(self, params: Json) -> Json:
        name = params["name"]
        if name == "refuse":
            raise PeerError(-32602, "no such thing", {"id": 7})
        if name == "slow":
            steps = {"total": 5, "message": "counting"}
            token = params.get("_meta", {}).get("progressToken")
            for step in (1, 2, 3):
                self.notify("notifications/progress", progressToken=token, progress=step, **steps)
            await asyncio.get_running_loop().create_future()
        if name in _ASKED:
            method, asked = _ASKED[name]
            answer = await self.ask(f"s{len(self.received)}", method, **asked)
            return text_result(str(answer.get("result", answer)))
        found: Json = _RESULTS.get(name) or text_result(str(params.get("arguments", {})))
        return found
