"""Commands for a server's identity, tools, tasks, resources, prompts and completion."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from ..client.client import Client
from ..client.requests import connection_of
from ..errors import McpError, NotRecorded, PeerError, UsageError
from ..framing.escaping import escape, escape_line
from ..framing.visible_texts import invisible_in
from ..jsonrpc.messages import ErrorCode
from ..net.regular_files import read_file
from ..net.user_folders import state_path
from ..protocol.schema_properties import needed_of, properties_of
from ..protocol.types import CallToolResult, ResourceTemplate, Tool
from ..protocol.wire_object import string_at
from . import arguments
from .command import Answer, Command, either, flag, option
from .commands import FAILED, PROTOCOL_ERROR
from .layout import MARKS, Style, counted, definitions, listing, one_line, table, width_of
from .parsing import command_line
from .screen import Screen

if TYPE_CHECKING:
    from ..protocol.tasks import Task


@Command("info")
async def _run_info(client: Client, screen: Screen, options: argparse.Namespace) -> Answer:
    server = client.server_info
    name = " ".join(filter(None, [server.name, server.version])) or "unknown"
    abilities = []
    for ability, details in sorted(client.capabilities.items()):
        flags = [key for key in details if details[key]] if isinstance(details, dict) else []
        abilities.append(one_line(f"{ability} ({', '.join(flags)})" if flags else ability))
    rows = [
        ("server", one_line(f"{server.title} ({name})" if server.title else name)),
        ("revision", one_line(client.protocol_version)),
        ("transport", client.transport_name),
        ("capabilities", ", ".join(abilities) or "none"),
    ]
    text = definitions(rows, screen.style.columns)
    agreement = connection_of(client).agreement
    instructions = agreement.instructions if agreement is not None else None
    if instructions:
        text += f"\n\n{escape(instructions.strip())}"
    raw = {
        "serverInfo": server.raw,
        "protocolVersion": client.protocol_version,
        "transport": client.transport_name,
        "capabilities": client.capabilities,
        "instructions": instructions,
    }
    steps = {} if remembered_tools(options) else {"its tools": ["tools"]}
    return Answer(raw, text, notes=offered(steps, screen, options))


@Command("ping")
async def _run_ping(client: Client, screen: Screen, options: argparse.Namespace) -> Answer:
    loop = asyncio.get_running_loop()
    started = loop.time()
    await client.ping()
    milliseconds = round((loop.time() - started) * 1000, 3)
    return Answer({"milliseconds": milliseconds}, f"answered in {milliseconds:.1f} ms")


def _one_name(words: Sequence[str]) -> str:
    if len(words) > 1:
        error = UsageError(f"tools does not take {words[1]!r}")
        does = ("Call", "call") if "=" in words[1] else ("Describe", "tools")
        line = shlex.join(["SERVER", *(words if "=" in words[1] else words[:1])])
        raise error.advise(f"{does[0]} it with: mcpclient {does[1]} {line}")
    return words[0] if words else "*"


@Command(
    "tools",
    more="NAME-OR-PATTERN",
    read=_one_name,
    options=(
        arguments.pick_option("the server's answer"),
        flag("--long", "show whole descriptions"),
    ),
    details="With the name of a tool, it is described: its arguments, their types and defaults. A "
    "pattern such as 'git_*' lists the tools that fit it; optional arguments stand in [brackets].",
)
async def _run_tools(client: Client, screen: Screen, options: argparse.Namespace) -> Answer:
    listed = await client.list_tools()
    is_first = not remembered_tools(options)
    remember(options, listed)
    nameless = sum(not tool.name for tool in listed)
    if nameless:
        count = counted(nameless, "tool")
        screen.say(f"the server sent {count} without a name, which cannot be called")
    wanted, next_steps = options.arguments, dict[str, Sequence[str]]()
    if set("*?[").isdisjoint(wanted):
        tools = [arguments.tool_named(wanted, listed, *options.named[:1])]
        line = command_line(options, "call", *arguments.example_words(tools[0]))
        text = described(tools[0], screen.style, line)
    else:
        tools = [tool for tool in listed if fnmatchcase(tool.name.lower(), wanted.lower())]
        text = _listed(tools, screen.style, whole=options.long)
        next_steps = {"one of them whole": ["tools", "NAME"]} if tools else {}
        if tools and is_first:
            next_steps["call one"] = ["call", "NAME", "ARGUMENT=VALUE"]
    raw = {"tools": [tool.raw for tool in tools]}
    unseen = [f"{tool.name}: {each}" for tool in tools for each in invisible_in(tool.raw)]
    for each in unseen[:_MAX_UNSEEN]:
        screen.say(each)
    if options.pick is not None:
        return Answer(raw, options.pick(raw))
    return Answer(raw, text, notes=offered(next_steps, screen, options))


def offered(
    steps: Mapping[str, Sequence[str]], screen: Screen, options: argparse.Namespace
) -> list[str]:
    """Return the lines that offer commands to a person who reads this on a terminal."""
    columns = screen.style.columns
    if columns is None or options.json or options.quiet or not options.named:
        return []
    if any(width_of(word) + 6 > columns for word in options.named):
        return []  # a path that would be broken
    return [f"{what}: {command_line(options, *words)}" for what, words in steps.items()]


_MAX_UNSEEN = 20
_MAX_REMEMBERED = 4 * 1024 * 1024


def remember(options: argparse.Namespace, tools: Sequence[Tool]) -> None:
    """Keep the tools of a server, so that shells can complete their names and arguments."""
    content = json.dumps([tool.raw for tool in tools]).encode("utf-8", "replace")
    with suppress(OSError):
        path = _memory_of(options)
        if path is not None and _read(path) != content:
            from ..net.files import change_file

            change_file(path, lambda before: content, limit=_MAX_REMEMBERED, private=True)


def remembered_tools(options: argparse.Namespace) -> list[Tool]:
    """Return the tools that were last listed of the server that was named."""
    try:
        path = _memory_of(options)
        found = json.loads(_read(path)) if path else ()
        return [Tool(raw) for raw in found if isinstance(raw, dict)]
    except (OSError, ValueError, TypeError, RecursionError):
        return []


def _read(path: str) -> bytes:
    with suppress(OSError):
        return read_file(path, limit=_MAX_REMEMBERED, private=True)
    return b""


def _memory_of(options: argparse.Namespace) -> str | None:
    """Return the file for a server that was named. Raises `OSError` where the folder is gone."""
    if not options.named or options.named[0] == "--":
        return None
    name = "\0".join([os.getcwd(), options.config or "", *options.named])
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return state_path(os.environ, "tools", f"{digest[:32]}.json")


def _listed(tools: Sequence[Tool], style: Style, *, whole: bool) -> str:
    rows = []
    for tool in filter(lambda tool: tool.name, tools):
        needed = needed_of(tool.input_schema)
        names = properties_of(tool.input_schema)
        given = " ".join(name if name in needed else f"[{name}]" for name in names)
        marks = [] if style.columns is None else [_mark(tool)]
        rows.append((tool.name, given, *marks, tool.description or tool.title))
    header = ("TOOL", "ARGUMENTS", "DESCRIPTION")
    return listing(header, rows, style, "no tools", whole=whole)


def _mark(tool: Tool) -> str:
    hints = tool.annotations or {}
    if hints.get("readOnlyHint") is True:
        return MARKS[0]
    return MARKS[1] if hints.get("destructiveHint") is True else ""


def described(tool: Tool, style: Style, line: str) -> str:
    """Return the description of one tool: its call, its mark, its arguments, its result.

    ``line``: a call of it, to be copied.
    """
    head = [style.bold(arguments.signature(tool)), style.dim(_mark(tool))]
    schema = tool.output_schema
    returned = properties_of(schema).items()
    rows = ((name, arguments.type_of(each, schema), _text(each)) for name, each in returned)
    header = ("ARGUMENT", "TYPE", "DEFAULT", "DESCRIPTION")
    parts = (
        "\n".join(filter(None, head)),
        escape((tool.description or tool.title or "").strip()),
        table(header, _argument_rows(tool.input_schema), style),
        table(("RETURNS", "TYPE", "DESCRIPTION"), rows, style),
        escape_line(line),
    )
    return "\n\n".join(filter(None, parts))


def _argument_rows(schema: Any) -> Iterator[tuple[str, ...]]:
    needed = needed_of(schema)
    for name, each in properties_of(schema).items():
        default = json.dumps(each["default"], ensure_ascii=False) if "default" in each else ""
        kind = arguments.type_of(each, schema)
        yield name, kind if name in needed else f"{kind}, optional", default, _text(each)


def _text(schema: Mapping[str, Any]) -> str:
    return string_at(schema, "description") or string_at(schema, "title") or ""


@Command(
    "call",
    required=("TOOL",),
    more="ARGUMENT",
    read=arguments.parse_arguments,
    details=re.sub(r"\n +(?=\S)", " ", (arguments.__doc__ or "").replace("``", ""))
    + f"\n{arguments.PICK_HELP}",
    options=(
        option("-o --output", "FILE", "save the image, the sound or the bytes of the result"),
        flag("--unchecked", "do not compare the arguments with the schema"),
        flag("--strict", "exit with code 5 if the server violates the protocol"),
        flag("--detach", "make a task of the call, and print its id at once"),
        arguments.pick_option("the structured content, or of JSON in the text"),
    ),
)
async def _run_call(client: Client, screen: Screen, options: argparse.Namespace) -> Answer:
    called, values = options.words[0], arguments.unchecked_arguments(options.arguments)
    judged = None
    if options.strict:
        from ..recording.judging import JudgedTranscript

        judged = JudgedTranscript()
        client.trace_to(judged.append)
    if not options.unchecked:
        called, values = await _checked(client, called, options.arguments, options)
    if options.detach:
        task = await client.call_tool_task(called, values)
        if task.id:
            screen.say(f"Wait for it with: {command_line(options, 'task', task.id, '--wait')}")
            return Answer(task.raw, one_line(task.id))
        result = await client.await_task(task)  # the server has answered at once
    else:
        result = await client.call_tool(called, values, on_progress=screen.status.update)
    answer = answer_of(result, options.output, screen)
    if judged is not None and judged.found:
        for about, fault in judged.found:
            screen.say(f"violation: {fault.code}: {about}: {fault.text} [{fault.clause}]")
        answer = answer._replace(exit_code=PROTOCOL_ERROR)
    if options.pick is None or result.is_error:
        return answer
    value = arguments.json_in(result.text) if result.structured is None else result.structured
    return answer._replace(text=options.pick(value))


async def _checked(
    client: Client, name: str, typed: Mapping[str, Any], options: argparse.Namespace
) -> tuple[str, dict[str, Any]]:
    """Return the tool's own name, and the arguments as its schema has them. Raises `UsageError`."""
    try:
        tools = await client.list_tools()
        remember(options, tools)
    except (PeerError, NotRecorded) as error:  # a recorded session may have checked nothing
        if isinstance(error, PeerError) and error.code != ErrorCode.METHOD_NOT_FOUND:
            raise
        return name, arguments.unchecked_arguments(typed)
    try:
        tool = arguments.tool_named(name, tools, *options.named[:1])
    except UsageError as error:
        with suppress(McpError):
            if any(each.name == name for each in await client.list_prompts()):
                error.advise(f"It is a prompt: mcpclient prompt SERVER {shlex.quote(name)}")
        raise
    return tool.name, arguments.checked_arguments(tool, typed)


def answer_of(result: CallToolResult, output: str | None, screen: Screen) -> Answer:
    """Return a result as it is shown, after its warnings; its media are saved to ``output``."""
    from ..adapters.limits import token_warning
    from .render import result_text, save_media

    style = screen.error_style if result.is_error else screen.style
    text = result_text(result, style)
    found = filter(None, (*result.warnings, token_warning(result.text)))
    warnings = [f"warning: {each}" for each in found]
    if output is not None and not result.is_error:
        saved = save_media(result, output)
        text = "\n".join(f"saved {path}" for path in saved)
    if not result.is_error:
        return Answer(result.raw, text, value=result, notes=warnings)
    text = text or "the tool failed without a message"
    return Answer(result.raw, text, failed=True, exit_code=FAILED, value=result, notes=warnings)


@Command("tasks")
async def _run_tasks(client: Client, screen: Screen, options: argparse.Namespace) -> Answer:
    tasks = await client.list_tasks()
    header = ("TASK", "STATUS", "SINCE", "MESSAGE")
    rows = [(task.id, task.status, task.created_at, task.status_message) for task in tasks]
    text = table(header, rows, screen.style, "no tasks")
    return Answer({"tasks": [task.raw for task in tasks]}, text)


@Command(
    "task",
    required=("ID",),
    options=(
        either(
            flag("--wait", "wait for its result, and show that"),
            flag("--cancel", "ask the server to stop it"),
        ),
        option("-o --output", "FILE", "save media of the result, as call does"),
    ),
    details="Shows the state of a task that call --detach began, on servers that keep tasks.",
)
async def _run_task(client: Client, screen: Screen, options: argparse.Namespace) -> Answer:
    def told(task: Task) -> str:
        return one_line(": ".join(filter(None, [task.status, task.status_message])))

    (name,) = options.words
    if options.wait:
        result = await client.await_task(name, on_status=lambda task: screen.say(told(task)))
        return answer_of(result, options.output, screen)
    if options.cancel:
        await client.cancel_task(name)
    task = await client.get_task(name)
    return Answer(task.raw, told(task))


@Command("resources")
async def _run_resources(client: Client, screen: Screen, options: argparse.Namespace) -> Answer:
    resources = await client.list_resources()
    templates = await templates_of(client)
    found = [(item.uri, item) for item in resources]
    found_templates = [(item.uri_template, item) for item in templates]
    parts = []
    for title, items in (("RESOURCE", found), ("TEMPLATE", found_templates)):
        rows = [(uri, item.mime_type, item.description or item.title) for uri, item in items]
        parts.append(listing((title, "TYPE", "DESCRIPTION"), rows, screen.style, titled=True))
    raw = {
        "resources": [item.raw for item in resources],
        "resourceTemplates": [item.raw for item in templates],
    }
    return Answer(raw, "\n\n".join(filter(None, parts)) or "no resources")


async def templates_of(client: Client) -> list[ResourceTemplate]:
    """Return the templates; a server that has none may not even know this method."""
    try:
        return await client.list_resource_templates()
    except PeerError as error:
        if error.code != ErrorCode.METHOD_NOT_FOUND:
            raise
        return []


@Command(
    "read",
    required=("URI",),
    options=(arguments.pick_option("the JSON in it"),),
    details="To a file or a pipe, the bytes of the resource are written exactly as they are."
    f"\n\n{arguments.PICK_HELP}",
)
async def _run_read(client: Client, screen: Screen, options: argparse.Namespace) -> Answer:
    from .render import contents

    result = await client.read_resource(*options.words)
    if options.pick is not None:
        return Answer(result.raw, options.pick(arguments.json_in(result.text)))
    return Answer(result.raw, contents(result.contents, screen.style), result.data, value=result)


@Command("prompts")
async def _run_prompts(client: Client, screen: Screen, options: argparse.Namespace) -> Answer:
    prompts = await client.list_prompts()
    rows = []
    for prompt in prompts:
        names = [each.name if each.required else f"[{each.name}]" for each in prompt.arguments]
        rows.append((prompt.name, " ".join(names), prompt.description or prompt.title))
    header = ("PROMPT", "ARGUMENTS", "DESCRIPTION")
    text = listing(header, rows, screen.style, "no prompts")
    return Answer({"prompts": [prompt.raw for prompt in prompts]}, text)


@Command(
    "prompt",
    required=("PROMPT",),
    more="ARGUMENT",
    read=arguments.parse_text_arguments,
    details="Arguments are strings: key=value or key=@file, or all of them as one JSON object, on "
    "the command line, as @file.json, or from stdin as -.",
)
async def _run_prompt(client: Client, screen: Screen, options: argparse.Namespace) -> Answer:
    from .render import contents

    result = await client.get_prompt(options.words[0], options.arguments)
    style = screen.style
    messages = [
        f"{style.bold(one_line(message.role) + ':')} {contents([message.content], style)}"
        for message in result.messages
    ]
    return Answer(result.raw, "\n".join(messages), value=result)


@Command(
    "complete",
    required=("PROMPT-OR-TEMPLATE", "ARGUMENT", "BEGINNING"),
    more="KNOWN=VALUE",
    read=arguments.parse_text_arguments,
    details="Arguments that are already known may follow as KNOWN=VALUE. BEGINNING may be ''.",
)
async def _run_complete(client: Client, screen: Screen, options: argparse.Namespace) -> Answer:
    name, argument, value = options.words[:3]
    is_template = "://" in name or "{" in name
    kind, key = ("ref/resource", "uri") if is_template else ("ref/prompt", "name")
    reference = {"type": kind, key: name}
    completion = await client.complete(reference, argument, value, context=options.arguments)
    text = "\n".join(one_line(suggestion) for suggestion in completion.values)
    return Answer({"completion": completion.raw}, text)
