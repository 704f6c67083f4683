"""``mcpclient listen``: what a server says without being asked."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Mapping
from typing import Any

from ..client.client import Client
from ..client.events.callbacks import LOG_LEVELS
from ..errors import ConnectionLost, McpError, PeerError
from ..framing.escaping import escape_line
from ..jsonrpc.messages import ErrorCode
from .command import Answer, LocalCommand, LocalWork
from .connecting import client_for
from .screen import Screen
from .target import find_server


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


def _prepare(options: argparse.Namespace) -> LocalWork:
    server, uris = find_server(options)

    async def work(screen: Screen) -> Answer:
        heard = _Heard(screen, options.count, as_json=options.json)
        client = client_for(
            server, options, screen, on_notification=heard.take, on_close=heard.closed
        )
        try:
            await client.connect()
            listening = asyncio.ensure_future(_listen(client, uris, options.log_level, screen))
            listening.add_done_callback(heard.listened)
            try:
                await heard.over
            finally:
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)
        finally:
            await client.close()
        return Answer({}, "", is_shown=True)

    return work


class _Heard:
    """An observer that shows notifications until their count is reached, or the connection ends."""

    def __init__(self, screen: Screen, count: int | None, *, as_json: bool) -> None:
        self._screen = screen
        self._left = count
        self._as_json = as_json
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def take(self, method: str, params: Mapping[str, Any]) -> None:
        """Show one notification, as a line of text or of JSON."""
        if self.over.done():
            return
        raw = {"method": method, "params": params}
        try:
            self._screen.show(json.dumps(raw) if self._as_json else line_of(method, params))
        except McpError as error:  # stdout is closed, or full
            self.over.set_exception(error)
            return
        if self._left is not None:
            self._left -= 1
            if self._left <= 0:
                self.over.set_result(None)

    def listened(self, listening: asyncio.Task[None]) -> None:
        """Report a refused subscription."""
        error = None if listening.cancelled() else listening.exception()
        if error is not None and not self.over.done():
            self.over.set_exception(error)

    def closed(self, reason: McpError | None) -> None:
        """Report the end of the connection."""
        if not self.over.done():
            error = reason or ConnectionLost("the server closed the connection")
            self.over.set_exception(error)


async def _listen(client: Client, uris: list[str], level: str | None, screen: Screen) -> None:
    """Subscribe to everything that the server can report, and stay subscribed."""
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
    except McpError as error:
        screen.say(f"changes are no longer reported: {error}")


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--count", type=int, metavar="NUMBER", help="end after so many")
    parser.add_argument("--log-level", choices=tuple(LOG_LEVELS), help="of the log messages (info)")


COMMAND = LocalCommand(
    "listen",
    _prepare,
    usage="[OPTION ...] [SERVER] [URI ...] [-- SERVER-COMMAND ...]",
    add_options=_add_options,
    takes_server=True,
    details=(
        "Log messages, changes of the lists of tools, prompts and resources, and updates of the "
        "resources with these URIs: one line each, with --json one JSON object each. Ctrl-C ends "
        "it."
    ),
)
