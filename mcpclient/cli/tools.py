"""The commands about tools: they are listed and described, called, and called as tasks."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ..adapters.limits import token_warning
from ..client.client import Client
from ..errors import McpError, NotRecorded, PeerError, UsageError
from ..framing.escaping import escape, escape_line
from ..jsonrpc.messages import ErrorCode
from ..net.files import change_file, read_file
from ..net.paths import state_folder
from ..protocol.tasks import Task
from ..protocol.types import CallToolResult, Tool
from . import arguments
from .command import Answer, Command, either, flag, option
from .main import FAILED
from .parsing import command_line
from .render import MARKS, Style, fill, listing, one_line, result_text, save_media
from .screen import Screen


def _one_name(words: Sequence[str]) -> str:
    if len(words) > 1:
        raise UsageError(f"tools does not take {words[1]!r}")
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
    remember(options, listed)
    nameless = sum(not tool.name for tool in listed)
    if nameless:
        count = "a tool" if nameless == 1 else f"{nameless} tools"
        screen.say(f"the server sent {count} without a name, which cannot be called")
    wanted = options.arguments
    tools = _wanted(listed, wanted, *options.named[:1])
    raw = {"tools": [tool.raw for tool in tools]}
    if options.pick is not None:
        text = options.pick(raw)
    elif not _is_pattern(wanted):
        line = command_line(options, "call", *arguments.example_words(tools[0]))
        text = described(tools[0], screen.style, line)
    else:
        text = _listed(tools, screen.style, whole=options.long)
    return Answer(raw, text)


_MAX_REMEMBERED = 4 * 1024 * 1024


def remember(options: argparse.Namespace, tools: Sequence[Tool]) -> None:
    """Keep the tools of a server, so that shells can complete their names and arguments."""
    content = json.dumps([tool.raw for tool in tools]).encode("utf-8", "replace")
    path = _memory_of(options)
    if path is not None:
        with suppress(OSError):
            change_file(path, lambda before: content, limit=_MAX_REMEMBERED, private=True)


def remembered_tools(options: argparse.Namespace) -> list[Tool]:
    """Return the tools that were last listed of the server that was named."""
    path = _memory_of(options)
    if path is None:
        return []
    try:
        found = json.loads(read_file(path, limit=_MAX_REMEMBERED, private=True))
        return [Tool(raw) for raw in found if isinstance(raw, dict)]
    except (OSError, ValueError, TypeError, RecursionError):
        return []


def _memory_of(options: argparse.Namespace) -> Path | None:
    if not options.named or options.named[0] == "--":
        return None
    name = "\0".join([os.getcwd(), options.config or "", *options.named])
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return state_folder(os.environ) / "tools" / f"{digest[:32]}.json"


def _wanted(tools: Sequence[Tool], wanted: str, server: str = "") -> list[Tool]:
    if not _is_pattern(wanted):
        return [arguments.tool_named(wanted, tools, server)]
    return [tool for tool in tools if fnmatchcase(tool.name.lower(), wanted.lower())]


def _is_pattern(text: str) -> bool:
    return not set("*?[").isdisjoint(text)


def _listed(tools: Sequence[Tool], style: Style, *, whole: bool) -> str:
    rows = []
    for tool in filter(lambda tool: tool.name, tools):
        needed = arguments.required_of(tool.input_schema)
        names = arguments.properties_of(tool.input_schema)
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
    """Return the description of one tool: its call, its arguments, its result, its hints.

    ``line``: a call of it, to be copied.
    """
    parts = [style.bold(fill(arguments.signature(tool), style.columns))]
    text = tool.description or tool.title
    if text:
        parts.append(fill(escape(text.strip()), style.columns))
    header: tuple[str, ...] = ("ARGUMENT", "TYPE", "DEFAULT", "DESCRIPTION")
    rows = _argument_rows(tool.input_schema)
    parts.append(listing(header, rows, style, whole=True, titled=True))
    schema, header = tool.output_schema, ("RETURNS", "TYPE", "DESCRIPTION")
    returned = arguments.properties_of(schema).items()
    rows = ((name, arguments.type_of(each, schema), _text(each)) for name, each in returned)
    parts.append(listing(header, rows, style, whole=True, titled=True))
    hints = ", ".join(_hints(tool))
    if hints:
        parts.append(style.dim(fill(f"The server says: {hints}.", style.columns)))
    parts.append(escape_line(line))
    return "\n\n".join(filter(None, parts))


def _argument_rows(schema: Any) -> Iterator[tuple[str, ...]]:
    needed = arguments.required_of(schema)
    for name, each in arguments.properties_of(schema).items():
        default = json.dumps(each["default"], ensure_ascii=False) if "default" in each else ""
        kind = arguments.type_of(each, schema)
        yield name, kind if name in needed else f"{kind}, optional", default, _text(each)


def _text(schema: Mapping[str, Any]) -> str:
    text = schema.get("description") or schema.get("title")
    return text if isinstance(text, str) else ""


def _hints(tool: Tool) -> Iterator[str]:
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


@Command(
    "call",
    required=("TOOL",),
    more="ARGUMENT",
    read=arguments.parse_arguments,
    details=(arguments.__doc__ or "").replace("``", "") + f"\n{arguments.PICK_HELP}",
    options=(
        option("-o --output", "FILE", "save the image, the sound or the bytes of the result"),
        flag("--unchecked", "do not compare the arguments with the schema"),
        flag("--detach", "make a task of the call, and print its id at once"),
        arguments.pick_option("the structured content, or of JSON in the text"),
    ),
)
async def _run_call(client: Client, screen: Screen, options: argparse.Namespace) -> Answer:
    called, values = options.words[0], arguments.unchecked_arguments(options.arguments)
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
        if await _is_prompt(client, name):
            error.advise(f"It is a prompt: mcpclient prompt SERVER {shlex.quote(name)}")
        raise
    return tool.name, arguments.checked_arguments(tool, typed)


async def _is_prompt(client: Client, name: str) -> bool:
    with suppress(McpError):
        return any(each.name == name for each in await client.list_prompts())
    return False


def answer_of(result: CallToolResult, output: str | None, screen: Screen) -> Answer:
    """Return a result as it is shown, after its warnings; its media are saved to ``output``."""
    style = screen.error_style if result.is_error else screen.style
    text = result_text(result, style)
    for warning in (*result.warnings, token_warning(result.text)):
        if warning is not None:
            screen.say(f"warning: {warning}")
    if output is not None and not result.is_error:
        saved = save_media(result, output)
        text = "\n".join(f"saved {path}" for path in saved)
    if not result.is_error:
        return Answer(result.raw, text, value=result)
    text = text or "the tool failed without a message"
    return Answer(result.raw, text, failed=True, exit_code=FAILED, value=result)


@Command("tasks")
async def _run_tasks(client: Client, screen: Screen, options: argparse.Namespace) -> Answer:
    tasks = await client.list_tasks()
    header = ("TASK", "STATUS", "SINCE", "MESSAGE")
    rows = [(task.id, task.status, task.created_at, task.status_message) for task in tasks]
    text = listing(header, rows, screen.style, "no tasks", whole=True)
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
