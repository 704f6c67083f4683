"""``mcpclient tools``: what can be called."""

from __future__ import annotations

from collections.abc import Sequence

from ..client.client import Client
from .command import Answer, Command, Work
from .render import arguments_of, one_line, table
from .screen import Screen

__all__ = ["COMMAND"]


def _prepare(words: Sequence[str]) -> Work:
    return _run


async def _run(client: Client, screen: Screen) -> Answer:
    tools = await client.list_tools()
    rows = [
        (
            one_line(tool.name),
            arguments_of(tool.input_schema),
            one_line(tool.description or tool.title),
        )
        for tool in tools
    ]
    text = table(("TOOL", "ARGUMENTS", "DESCRIPTION"), rows, screen.style) if rows else "no tools"
    return Answer({"tools": [tool.raw for tool in tools]}, text)


COMMAND = Command("tools", "list the tools; optional arguments stand in [brackets]", _prepare)
