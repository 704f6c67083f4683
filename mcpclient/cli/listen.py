"""``mcpclient listen``: the notifications of a server as they arrive."""

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
from ..framing.escaping import escape_line
from ..jsonrpc.messages import ErrorCode
from .command import Answer, LocalCommand, Server, number, option
from .connecting import client_for
from .layout import fill
from .parsing import find_server
from .screen import Screen


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
        number("--count", "end after this many notifications"),
        option("--log-level", None, "lowest level of log messages (info)", choices=[*LOG_LEVELS]),
    ),
    takes_server=True,
    details="Log messages, changes of the lists of tools, prompts and resources, and updates of "
    "the resources with these URIs: one line each, with --json one JSON object each. Ctrl-C ends "
    "it.",
)
def _listen(screen: Screen, options: argparse.Namespace) -> Awaitable[Answer]:
    return _show_all(find_server(options), options.words, screen, options)


async def _show_all(
    server: Server, uris: list[str], screen: Screen, options: argparse.Namespace
) -> Answer:
    # The notifications, and the error that ends them.
    heard: asyncio.Queue[tuple[str, Mapping[str, Any]] | Exception] = asyncio.Queue()

    def closed(reason: McpError | None) -> None:
        heard.put_nowait(reason or ConnectionLost("the server closed the connection"))

    def notified(method: str, params: Mapping[str, Any]) -> None:
        heard.put_nowait((method, params))

    async def listen() -> None:
        try:
            await _hear_changes(client, uris, options.log_level, screen)
        except Exception as error:
            heard.put_nowait(error)

    client = client_for(server, options, screen, on_notification=notified, on_close=closed)
    async with client:
        options.is_connected = True
        listening = asyncio.ensure_future(listen())
        try:
            for number in count(1):
                found = await heard.get()
                if isinstance(found, Exception):
                    raise found
                method, params = found
                line = fill(line_of(method, params), screen.style.columns)
                raw = {"method": method, "params": params}
                screen.show(json.dumps(raw) if options.json else line)
                if options.count is not None and number >= options.count:
                    break
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
    return Answer(is_shown=True)


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
