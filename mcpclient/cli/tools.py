"""``mcpclient tools``: what can be called, and how."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from ..client.client import Client
from ..errors import UsageError
from ..framing.escaping import escape
from ..protocol.types import Tool
from .checking import tool_named
from .command import Answer, Command, Work
from .render import Style, one_line, table
from .screen import Screen
from .signature import properties_of, required_of, signature, type_of

_PATTERN = ("*", "?", "[")


def _prepare(words: Sequence[str], options: argparse.Namespace) -> Work:
    if len(words) > 1:
        raise UsageError(f"tools does not take {words[1]!r}")
    wanted = words[0] if words else None

    async def run(client: Client, screen: Screen) -> Answer:
        listed = await client.list_tools()
        nameless = sum(not tool.name for tool in listed)
        if nameless:
            screen.say(f"the server sent {_count(nameless)} without a name, which nobody can call")
        tools = _wanted(listed, wanted)
        is_one = wanted is not None and not _is_pattern(wanted)
        text = described(tools[0], screen.style) if is_one else _listed(tools, screen.style)
        return Answer({"tools": [tool.raw for tool in tools]}, text)

    return run


def _count(tools: int) -> str:
    return "a tool" if tools == 1 else f"{tools} tools"


def _wanted(tools: Sequence[Tool], wanted: str | None) -> list[Tool]:
    if wanted is None:
        return list(tools)
    if not _is_pattern(wanted):
        return [tool_named(wanted, tools)]
    return [tool for tool in tools if fnmatchcase(tool.name.lower(), wanted.lower())]


def _is_pattern(text: str) -> bool:
    return any(character in text for character in _PATTERN)


def _listed(tools: Sequence[Tool], style: Style) -> str:
    rows = [
        (
            one_line(tool.name),
            _arguments(tool.input_schema),
            one_line(tool.description or tool.title),
        )
        for tool in tools
        if tool.name
    ]
    return table(("TOOL", "ARGUMENTS", "DESCRIPTION"), rows, style) if rows else "no tools"


def _arguments(schema: Any) -> str:
    """Return the names of the arguments, the optional ones in brackets."""
    needed = required_of(schema)
    return " ".join(
        one_line(name) if name in needed else f"[{one_line(name)}]"
        for name in properties_of(schema)
    )


def described(tool: Tool, style: Style) -> str:
    """Return everything that is known of one tool: how it is called, and what it does."""
    parts = [style.bold(signature(tool))]
    text = tool.description or tool.title
    if text:
        parts.append(escape(text.strip()))
    rows = list(_argument_rows(tool.input_schema))
    if rows:
        parts.append(table(("ARGUMENT", "TYPE", "DEFAULT", "DESCRIPTION"), rows, style))
    returned = properties_of(tool.output_schema)
    if returned:
        rows = [
            (one_line(name), type_of(each, tool.output_schema), one_line(_text(each)))
            for name, each in returned.items()
        ]
        parts.append(table(("RETURNS", "TYPE", "DESCRIPTION"), rows, style))
    hints = ", ".join(_hints(tool))
    if hints:
        parts.append(style.dim(f"The server says: {hints}."))
    return "\n\n".join(parts)


def _argument_rows(schema: Any) -> Iterator[tuple[str, ...]]:
    needed = required_of(schema)
    for name, each in properties_of(schema).items():
        default = json.dumps(each["default"], ensure_ascii=False) if "default" in each else ""
        kind = type_of(each, schema)
        yield (
            one_line(name),
            kind if name in needed else f"{kind}, optional",
            one_line(default),
            one_line(_text(each)),
        )


def _text(schema: Mapping[str, Any]) -> str:
    text = schema.get("description") or schema.get("title")
    return text if isinstance(text, str) else ""


def _hints(tool: Tool) -> Iterator[str]:
    """Yield what the annotations say in so many words; what they leave out is not said."""
    hints = tool.annotations or {}
    for key, yes, no in (
        ("readOnlyHint", "it changes nothing", "it changes things"),
        ("destructiveHint", "it may destroy something", "it destroys nothing"),
        ("idempotentHint", "a second call does no more", "every call counts"),
        ("openWorldHint", "it reaches the outside world", "it reaches nothing outside"),
    ):
        value = hints.get(key)
        if isinstance(value, bool):
            yield yes if value else no


COMMAND = Command(
    "tools",
    _prepare,
    more="NAME-OR-PATTERN",
    details="With the name of a tool, it is described: its arguments, their types and defaults. A "
    "pattern such as 'git_*' lists the tools that fit it; optional arguments stand in [brackets].",
)
