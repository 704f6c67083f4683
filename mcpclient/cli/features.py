"""The commands for the features of a server: tools, resources, prompts, and who it is."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from ..adapters.limits import token_warning
from ..client.client import Client
from ..errors import NotRecorded, PeerError, UsageError
from ..framing.escaping import escape
from ..jsonrpc.messages import ErrorCode
from ..protocol.types import CallToolResult, Prompt, ResourceTemplate, Tool
from . import arguments
from .arguments import (
    checked_arguments,
    parse_text_arguments,
    properties_of,
    required_of,
    signature,
    tool_named,
    type_of,
    unchecked_arguments,
)
from .command import Answer, Command, Work
from .render import Style, contents, definitions, one_line, table
from .results import result_text, save_media
from .screen import Screen


def _prepare_info(words: Sequence[str], options: argparse.Namespace) -> Work:
    return _run_info


async def _run_info(client: Client, screen: Screen) -> Answer:
    server = client.server_info
    name = " ".join(filter(None, [server.name, server.version])) or "unknown"
    rows = [
        ("server", one_line(f"{server.title} ({name})" if server.title else name)),
        ("revision", one_line(client.protocol_version)),
        ("transport", client.transport_name),
        ("capabilities", ", ".join(_abilities(client.capabilities)) or "none"),
    ]
    columns = screen.style.columns
    text = definitions(rows, columns and columns - 1)
    if client.instructions:
        text += "\n\n" + escape(client.instructions.strip())
    raw = {
        "serverInfo": server.raw,
        "protocolVersion": client.protocol_version,
        "transport": client.transport_name,
        "capabilities": client.capabilities,
        "instructions": client.instructions,
    }
    return Answer(raw, text)


def _abilities(capabilities: Mapping[str, Any]) -> Iterator[str]:
    for name, details in sorted(capabilities.items()):
        flags = [key for key in details if details[key]] if isinstance(details, dict) else []
        yield one_line(f"{name} ({', '.join(flags)})" if flags else name)


INFO = Command("info", _prepare_info)


def _prepare_ping(words: Sequence[str], options: argparse.Namespace) -> Work:
    return _run_ping


async def _run_ping(client: Client, screen: Screen) -> Answer:
    loop = asyncio.get_running_loop()
    started = loop.time()
    await client.ping()
    milliseconds = round((loop.time() - started) * 1000, 3)
    return Answer({"milliseconds": milliseconds}, f"answered in {milliseconds:.1f} ms")


PING = Command("ping", _prepare_ping)


_PATTERN = ("*", "?", "[")


def _prepare_tools(words: Sequence[str], options: argparse.Namespace) -> Work:
    if len(words) > 1:
        raise UsageError(f"tools does not take {words[1]!r}")
    wanted = words[0] if words else None

    async def run(client: Client, screen: Screen) -> Answer:
        listed = await client.list_tools()
        nameless = sum(not tool.name for tool in listed)
        if nameless:
            screen.say(f"the server sent {_count(nameless)} without a name, which cannot be called")
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
            _arguments_tools(tool.input_schema),
            one_line(tool.description or tool.title),
        )
        for tool in tools
        if tool.name
    ]
    return table(("TOOL", "ARGUMENTS", "DESCRIPTION"), rows, style) if rows else "no tools"


def _arguments_tools(schema: Any) -> str:
    """Return the names of the arguments, the optional ones in brackets."""
    needed = required_of(schema)
    return " ".join(
        one_line(name) if name in needed else f"[{one_line(name)}]"
        for name in properties_of(schema)
    )


def described(tool: Tool, style: Style) -> str:
    """Return the description of one tool: its call, its arguments, its result, its hints."""
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
    """Yield the annotations that the server set, in words."""
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


TOOLS = Command(
    "tools",
    _prepare_tools,
    more="NAME-OR-PATTERN",
    details="With the name of a tool, it is described: its arguments, their types and defaults. A "
    "pattern such as 'git_*' lists the tools that fit it; optional arguments stand in [brackets].",
)


def _prepare_call(words: Sequence[str], options: argparse.Namespace) -> Work:
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


CALL = Command(
    "call",
    _prepare_call,
    required=("TOOL",),
    more="ARGUMENT",
    details=(arguments.__doc__ or "").replace("``", ""),
    add_options=_add_options,
)
"""Calls a tool, after its arguments were compared with its schema."""


def _prepare_resources(words: Sequence[str], options: argparse.Namespace) -> Work:
    return _run_resources


async def _run_resources(client: Client, screen: Screen) -> Answer:
    resources = await client.list_resources()
    templates = await _templates(client)
    found = [(item.uri, item) for item in resources]
    found_templates = [(item.uri_template, item) for item in templates]
    parts = []
    for title, items in (("RESOURCE", found), ("TEMPLATE", found_templates)):
        rows = [
            (one_line(uri), one_line(item.mime_type), one_line(item.description or item.title))
            for uri, item in items
        ]
        if rows:
            parts.append(table((title, "TYPE", "DESCRIPTION"), rows, screen.style))
    raw = {
        "resources": [item.raw for item in resources],
        "resourceTemplates": [item.raw for item in templates],
    }
    return Answer(raw, "\n\n".join(parts) or "no resources")


async def _templates(client: Client) -> list[ResourceTemplate]:
    """Return the templates; a server that has none may not even know this method."""
    try:
        return await client.list_resource_templates()
    except PeerError as error:
        if error.code != ErrorCode.METHOD_NOT_FOUND:
            raise
        return []


RESOURCES = Command("resources", _prepare_resources)


def _prepare_read(words: Sequence[str], options: argparse.Namespace) -> Work:
    (uri,) = words

    async def run(client: Client, screen: Screen) -> Answer:
        result = await client.read_resource(uri)
        return Answer(result.raw, contents(result.contents, screen.style), content=result.data)

    return run


READ = Command(
    "read",
    _prepare_read,
    required=("URI",),
    details="To a file or a pipe, the bytes of the resource are written exactly as they are.",
)


def _prepare_prompts(words: Sequence[str], options: argparse.Namespace) -> Work:
    return _run_prompts


async def _run_prompts(client: Client, screen: Screen) -> Answer:
    prompts = await client.list_prompts()
    rows = [
        (
            one_line(prompt.name),
            _arguments_prompts(prompt),
            one_line(prompt.description or prompt.title),
        )
        for prompt in prompts
    ]
    header = ("PROMPT", "ARGUMENTS", "DESCRIPTION")
    text = table(header, rows, screen.style) if rows else "no prompts"
    return Answer({"prompts": [prompt.raw for prompt in prompts]}, text)


def _arguments_prompts(prompt: Prompt) -> str:
    return " ".join(
        one_line(argument.name) if argument.required else f"[{one_line(argument.name)}]"
        for argument in prompt.arguments
    )


PROMPTS = Command("prompts", _prepare_prompts)


def _prepare_prompt(words: Sequence[str], options: argparse.Namespace) -> Work:
    name, values = words[0], parse_text_arguments(words[1:])

    async def run(client: Client, screen: Screen) -> Answer:
        result = await client.get_prompt(name, values)
        style = screen.style
        messages = [
            f"{style.bold(one_line(message.role) + ':')} {contents([message.content], style)}"
            for message in result.messages
        ]
        return Answer(result.raw, "\n".join(messages))

    return run


PROMPT = Command(
    "prompt",
    _prepare_prompt,
    required=("PROMPT",),
    more="ARGUMENT",
    details=(
        "Arguments are strings: key=value or key=@file, or all of them as one JSON object, on the "
        "command line, as @file.json, or from stdin as -."
    ),
)


def _prepare_complete(words: Sequence[str], options: argparse.Namespace) -> Work:
    name, argument, value = words[:3]
    known = parse_text_arguments(words[3:])

    async def run(client: Client, screen: Screen) -> Answer:
        completion = await client.complete(_reference(name), argument, value, context=known)
        text = "\n".join(one_line(suggestion) for suggestion in completion.values)
        return Answer({"completion": completion.raw}, text)

    return run


def _reference(name: str) -> dict[str, str]:
    if "://" in name or "{" in name:
        return {"type": "ref/resource", "uri": name}
    return {"type": "ref/prompt", "name": name}


COMPLETE = Command(
    "complete",
    _prepare_complete,
    required=("PROMPT-OR-TEMPLATE", "ARGUMENT", "BEGINNING"),
    more="KNOWN=VALUE",
    details="Arguments that are already known may follow as KNOWN=VALUE. BEGINNING may be ''.",
)
