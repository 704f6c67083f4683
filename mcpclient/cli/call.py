"""``mcpclient call``: call a tool."""

from __future__ import annotations

from collections.abc import Sequence

from ..client.client import Client
from ..protocol.types import CallToolResult
from . import arguments
from .command import Answer, Command, Work
from .render import Style, contents, pretty_json
from .screen import Screen

__all__ = ["COMMAND"]


def _prepare(words: Sequence[str]) -> Work:
    name, values = words[0], arguments.parse_arguments(words[1:])

    async def run(client: Client, screen: Screen) -> Answer:
        result = await client.call_tool(name, values, on_progress=screen.status.update)
        style = screen.error_style if result.is_error else screen.style
        return Answer(result.raw, _text(result, style), failed=result.is_error)

    return run


def _text(result: CallToolResult, style: Style) -> str:
    blocks = result.content
    if not blocks and result.structured is not None:
        return pretty_json(result.structured)
    return contents(blocks, style)


COMMAND = Command(
    "call",
    "call a tool",
    _prepare,
    required=("TOOL",),
    more="ARGUMENT",
    details=(arguments.__doc__ or "").replace("``", ""),
)
