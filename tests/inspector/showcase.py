"""A server in the same process that has something of everything the inspector shows."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from mcpclient.transports.inprocess import InProcessTransport, ServerEnd

__all__ = ["ATTACKS", "HOSTILE", "Showcase"]

Json = dict[str, Any]

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

_FORM = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "title": "Your name"},
        "color": {"type": "string", "enum": ["red", "green", "blue"], "default": "green"},
        "subscribe": {"type": "boolean", "default": True},
    },
}


class Showcase:
    """The server. ``tools`` replaces its tools; ``hostile``: every string of its is an attack."""

    def __init__(self, *, tools: list[Any] | None = None, hostile: bool = False) -> None:
        self.tools = TOOLS + MALFORMED if tools is None else tools
        self.hostile = hostile
        self.received: list[Json] = []
        self._end: ServerEnd | None = None
        self._asked: dict[Any, asyncio.Future[Json]] = {}
        self._working: set[asyncio.Task[None]] = set()

    @property
    def transport(self) -> InProcessTransport:
        """A new connection to it."""
        return InProcessTransport(self._serve)

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        assert self._end is not None
        self._end.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def _serve(self, end: ServerEnd) -> None:
        self._end = end
        async for message in end:
            self.received.append(message)
            if "method" not in message:
                self._asked.pop(message["id"]).set_result(message.get("result", message))
            elif "id" in message:
                task = asyncio.get_running_loop().create_task(self._answer(end, message))
                self._working.add(task)
                task.add_done_callback(self._working.discard)
        for task in list(self._working):
            task.cancel()

    async def _answer(self, end: ServerEnd, message: Json) -> None:
        method, params = message["method"], message.get("params", {})
        answer: Json = {"jsonrpc": "2.0", "id": message["id"]}
        work = _METHODS.get(method)
        if work is None:
            answer["error"] = {"code": -32601, "message": f"Method not found: {method}"}
        else:
            result = await work(self, params)
            answer.update(result if "error" in result else {"result": result})
        end.send(answer)

    async def _ask(self, method: str, params: Json) -> Json:
        assert self._end is not None
        request_id = f"s{len(self.received)}"
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._asked[request_id] = answer
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        self._end.send(message)
        return await answer

    async def _initialize(self, params: Json) -> Json:
        name = HOSTILE if self.hostile else "showcase"
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": {
                "tools": {"listChanged": True},
                "resources": {"subscribe": True},
                "prompts": {},
                "completions": {},
                "logging": {},
            },
            "serverInfo": {"name": name, "version": "1.0"},
            "instructions": HOSTILE if self.hostile else "Search first, then read.",
        }

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

    async def _read(self, params: Json) -> Json:
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
        work = _TOOLS.get(params["name"])
        result: Json = _text(str(arguments)) if work is None else await work(self, params)
        return result

    async def _slow(self, params: Json) -> Json:
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

    async def _picture(self, params: Json) -> Json:
        return {
            "content": [
                {"type": "text", "text": "A picture:"},
                {"type": "image", "data": _IMAGE, "mimeType": "image/png"},
                {"type": "resource_link", "uri": "file:///notes.txt", "name": "notes"},
            ],
            "structuredContent": {"width": 16, "height": 16, "tags": ["a", "b"], "alpha": None},
        }

    async def _fail(self, params: Json) -> Json:
        return {**_text("it did not work"), "isError": True}

    async def _refuse(self, params: Json) -> Json:
        return {"error": {"code": -32602, "message": "no such thing", "data": {"id": 7}}}

    async def _ask_user(self, params: Json) -> Json:
        asked = {"message": "Who are you?", "requestedSchema": _FORM}
        return _text(str(await self._ask("elicitation/create", asked)))

    async def _visit(self, params: Json) -> Json:
        asked = {
            "mode": "url",
            "message": "Please pay first.",
            "url": "https://pay.example.com/checkout?id=7",
            "elicitationId": "v1",
        }
        return _text(str(await self._ask("elicitation/create", asked)))

    async def _ask_model(self, params: Json) -> Json:
        message = {"role": "user", "content": {"type": "text", "text": "What is 6 times 7?"}}
        asked = {"messages": [message], "maxTokens": 100, "systemPrompt": "Answer shortly."}
        return _text(str(await self._ask("sampling/createMessage", asked)))

    async def _list_roots(self, params: Json) -> Json:
        return _text(str(await self._ask("roots/list", {})))

    async def _large(self, params: Json) -> Json:
        return _text("0123456789" * 100_000)


def _text(text: str) -> Json:
    return {"content": [{"type": "text", "text": text}]}


_METHODS: Mapping[str, Any] = {
    "initialize": Showcase._initialize,
    "tools/list": Showcase._list_tools,
    "tools/call": Showcase._call,
    "resources/list": Showcase._list_resources,
    "resources/templates/list": Showcase._list_templates,
    "resources/read": Showcase._read,
    "resources/subscribe": Showcase._nothing,
    "resources/unsubscribe": Showcase._nothing,
    "prompts/list": Showcase._list_prompts,
    "prompts/get": Showcase._prompt,
    "completion/complete": Showcase._complete,
    "logging/setLevel": Showcase._nothing,
    "ping": Showcase._nothing,
}

_TOOLS: Mapping[str, Any] = {
    "slow": Showcase._slow,
    "picture": Showcase._picture,
    "fail": Showcase._fail,
    "refuse": Showcase._refuse,
    "ask_user": Showcase._ask_user,
    "visit": Showcase._visit,
    "ask_model": Showcase._ask_model,
    "list_roots": Showcase._list_roots,
    "large": Showcase._large,
}
