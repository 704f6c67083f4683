"""The outcomes of calls: every kind of content, failures, and results that are too large."""

from __future__ import annotations

import base64
from typing import Any

from mcpclient.adapters.definitions import ToolCall
from mcpclient.adapters.parts import Outcome
from mcpclient.errors import CallTimeout
from mcpclient.protocol.types import CallToolResult, GetPromptResult

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
GIF = b"GIF89a\x01\0\x01\0\0\0\0;"
WAV = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0"
PDF = b"%PDF-1.4\n%%EOF\n"


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _result(*blocks: dict[str, Any], **fields: Any) -> CallToolResult:
    return CallToolResult({"content": list(blocks), **fields})


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _binary(kind: str, data: bytes, mime_type: str) -> dict[str, Any]:
    return {"type": kind, "data": encoded(data), "mimeType": mime_type}


def _embedded(**fields: Any) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": "file:///a/b.pdf", **fields}}


OUTCOMES: dict[str, Outcome] = {
    "text": _result(_text("one"), _text("two")),
    "nothing": _result(),
    "white space": _result(_text(" \n")),
    "an error": _result(_text("disk full"), isError=True),
    "an error without words": _result(isError=True),
    "an exception": CallTimeout("tools/call", 3.0, "idle"),
    "a foreign exception": KeyError("secret"),
    "structured": _result(structuredContent={"$ref": "#/a", "n": [1, None]}),
    "structured beside its text": _result(_text('{"n": 1}'), structuredContent={"n": 1}),
    "an image": _result(_text("see"), _binary("image", PNG, "image/png"), _text("above")),
    "an image of another type": _result(_binary("image", PNG, "image/jpeg")),
    "only an image": _result(_binary("image", GIF, "image/gif")),
    "an error with an image": _result(_binary("image", PNG, "image/png"), isError=True),
    "a large image": _result(_binary("image", PNG + bytes(5_000_000), "image/png")),
    "a damaged image": _result({"type": "image", "data": "!", "mimeType": "image/png"}),
    "a drawing": _result(_binary("image", b"<svg/>", "image/svg+xml")),
    "sound": _result(_binary("audio", WAV, "audio/x-wav")),
    "embedded text": _result(_embedded(text="inside")),
    "an embedded document": _result(_embedded(blob=encoded(PDF), mimeType="application/pdf")),
    "an embedded archive": _result(_embedded(blob=encoded(b"PK\3\4"), mimeType="application/zip")),
    "a bare resource": _result(_embedded()),
    "a link": _result({"type": "resource_link", "uri": "memo://1", "name": "m"}),
    "unknown": _result({"type": "hologram", "depth": 3}),
    "half a pair": _result(
        _text("a \ud800 b"),
        _binary("image", b"x", "\ud800"),
        structuredContent={"k\udfff": "\ud800"},
    ),
    "long": _result(_text("x" * 200_000)),
}


def pairs() -> list[tuple[ToolCall, Outcome]]:
    """A call for every outcome."""
    return [
        (ToolCall(f"call_{number}", "t", {}, None, "t"), outcome)
        for number, outcome in enumerate(OUTCOMES.values())
    ]


PROMPT = GetPromptResult(
    {
        "messages": [
            {"role": "user", "content": _text("look")},
            {"role": "user", "content": _binary("image", PNG, "image/png")},
            {"role": "assistant", "content": _text("a dot")},
            {"role": "assistant", "content": _binary("image", PNG, "image/png")},
            {"role": "user", "content": _embedded(text="inside")},
            {"role": "user", "content": _binary("audio", WAV, "audio/wav")},
            {"role": "user", "content": _embedded(blob=encoded(PDF), mimeType="application/pdf")},
            {"role": "user", "content": _text("")},
        ]
    }
)
