"""Commands for a server's identity, resources, prompts, completion and notifications."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Awaitable, Mapping
from itertools import count
from typing import Any

from ..client.client import Client
from ..client.events.callbacks import LOG_LEVELS
from ..errors import ConnectionLost, McpError, PeerError, UsageError
from ..framing.escaping import escape, escape_line
from ..jsonrpc.messages import ErrorCode
from ..protocol.types import ResourceTemplate
from .arguments import PICK_HELP, json_in, parse_text_arguments, pick_option
from .command import Answer, Command, LocalCommand, option
from .connecting import client_for
from .parsing import find_server
from .render import contents, definitions, listing, one_line
from .screen import Screen


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


@Command("ping")
async def _run_ping(client: Client, screen: Screen, options: argparse.Namespace) -> Answer:
    loop = asyncio.get_running_loop()
    started = loop.time()
    await client.ping()
    milliseconds = round((loop.time() - started) * 1000, 3)
    return Answer({"milliseconds": milliseconds}, f"answered in {milliseconds:.1f} ms")


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
    options=(pick_option("the JSON in it"),),
    details="To a file or a pipe, the bytes of the resource are written exactly as they are."
    f"\n\n{PICK_HELP}",
)
async def _run_read(client: Client, screen: Screen, options: argparse.Namespace) -> Answer:
    result = await client.read_resource(*options.words)
    if options.pick is not None:
        return Answer(result.raw, options.pick(json_in(result.text)))
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
    read=parse_text_arguments,
    details="Arguments are strings: key=value or key=@file, or all of them as one JSON object, on "
    "the command line, as @file.json, or from stdin as -.",
)
async def _run_prompt(client: Client, screen: Screen, options: argparse.Namespace) -> Answer:
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
    read=parse_text_arguments,
    details="Arguments that are already known may follow as KNOWN=VALUE. BEGINNING may be ''.",
)
async def _run_complete(client: Client, screen: Screen, options: argparse.Namespace) -> Answer:
    name, argument, value = options.words[:3]
    is_template = "://" in name or "{" in name
    reference = (
        {"type": "ref/resource", "uri": name}
        if is_template
        else {"type": "ref/prompt", "name": name}
    )
    completion = await client.complete(reference, argument, value, context=options.arguments)
    text = "\n".join(one_line(suggestion) for suggestion in completion.values)
    return Answer({"completion": completion.raw}, text)


def line_of(method: str, params: Mapping[str, Any]) -> str:
    """Return a notification on one line, escaped."""
    short = method[len("notifications/") :] if method.startswith("notifications/") else method
    if short == "message":
        said = params.get("data")
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        source = f" {params['logger']}" if params.get("logger") else ""
        return escape_line(f"log {params.get('level', '')}{source}: {text}")
    shown = {key: value for key, value in params.items() if key != "_meta"}
    return escape_line(f"{short} {json.dumps(shown, ensure_ascii=False) if shown else ''}".rstrip())


@LocalCommand(
    "listen",
    usage="[OPTION ...] [SERVER] [URI ...] [-- SERVER-COMMAND ...]",
    options=(
        option("--count", "NUMBER", "end after this many notifications", type=int),
        option("--log-level", None, "lowest level of log messages (info)", choices=[*LOG_LEVELS]),
    ),
    takes_server=True,
    details="Log messages, changes of the lists of tools, prompts and resources, and updates of "
    "the resources with these URIs: one line each, with --json one JSON object each. Ctrl-C ends "
    "it.",
)
def _listen(screen: Screen, options: argparse.Namespace) -> Awaitable[Answer]:
    server, uris = find_server(options), options.words

    async def work() -> Answer:
        # The notifications, and the error that ends them.
        heard: asyncio.Queue[tuple[str, Mapping[str, Any]] | Exception] = asyncio.Queue()

        def closed(reason: McpError | None) -> None:
            heard.put_nowait(reason or ConnectionLost("the server closed the connection"))

        async def listen() -> None:
            try:
                await _hear_changes(client, uris, options.log_level, screen)
            except Exception as error:
                heard.put_nowait(error)

        client = client_for(
            server,
            options,
            screen,
            on_notification=lambda method, params: heard.put_nowait((method, params)),
            on_close=closed,
        )
        async with client:
            listening = asyncio.ensure_future(listen())
            try:
                for number in count(1):
                    found = await heard.get()
                    if isinstance(found, Exception):
                        raise found
                    method, params = found
                    raw = {"method": method, "params": params}
                    screen.show(json.dumps(raw) if options.json else line_of(method, params))
                    if options.count is not None and number >= options.count:
                        break
            finally:
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)
        return Answer(is_shown=True)

    return work()


async def _hear_changes(client: Client, uris: list[str], level: str | None, screen: Screen) -> None:
    capabilities = client.capabilities
    if level is not None or "logging" in capabilities:
        await client.set_log_level(level or "info")
    tools, prompts, resources = (name in capabilities for name in ("tools", "prompts", "resources"))
    if not (uris or tools or prompts or resources):
        return
    try:
        async for _ in client.listen(tools=tools, prompts=prompts, resources=resources, uris=uris):
            pass  # on_notification has shown it already
    except PeerError as error:
        if error.code != ErrorCode.METHOD_NOT_FOUND:
            raise
    except UsageError:  # a vendored copy without that part
        raise
    except McpError as error:
        screen.say(f"changes are no longer reported: {error}")
