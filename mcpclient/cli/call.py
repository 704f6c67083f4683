"""``mcpclient call``: call a tool."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from ..adapters.limits import token_warning
from ..client.client import Client
from ..errors import NotRecorded, PeerError
from ..jsonrpc.messages import ErrorCode
from ..protocol.types import CallToolResult
from . import arguments
from .checking import checked_arguments, tool_named, unchecked_arguments
from .command import Answer, Command, Work
from .results import result_text, save_media
from .screen import Screen


def _prepare(words: Sequence[str], options: argparse.Namespace) -> Work:
    name, typed = words[0], arguments.parse_arguments(words[1:])

    async def run(client: Client, screen: Screen) -> Answer:
        checked = not options.unchecked
        values = await _checked(client, name, typed) if checked else unchecked_arguments(typed)
        result = await client.call_tool(name, values, on_progress=screen.status.update)
        return _answer(result, options.output, screen)

    return run


async def _checked(client: Client, name: str, typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments as the tool's schema has them. Raises `UsageError`."""
    try:
        tools = await client.list_tools()
    except PeerError as error:
        if error.code != ErrorCode.METHOD_NOT_FOUND:
            raise
        return unchecked_arguments(typed)
    except NotRecorded:  # of a session in which nothing was checked
        return unchecked_arguments(typed)
    return checked_arguments(tool_named(name, tools), typed)


def _answer(result: CallToolResult, output: str | None, screen: Screen) -> Answer:
    style = screen.error_style if result.is_error else screen.style
    text = result_text(result, style)
    for warning in (*result.warnings, token_warning(result.text)):
        if warning is not None:
            screen.say(f"warning: {warning}")
    if output is not None and not result.is_error:
        saved = save_media(result, output)
        text = "\n".join(f"saved {path}" for path in saved)
    return Answer(result.raw, text, failed=result.is_error)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        *("-o", "--output"),
        metavar="FILE",
        help="save the image, the sound or the bytes of the result",
    )
    parser.add_argument(
        "--unchecked", action="store_true", help="do not compare the arguments with the schema"
    )


COMMAND = Command(
    "call",
    _prepare,
    required=("TOOL",),
    more="ARGUMENT",
    details=(arguments.__doc__ or "").replace("``", ""),
    add_options=_add_options,
)
"""Calls a tool, after its arguments were compared with its schema."""
