"""``mcpclient inspect``: see in the browser what happens between client and server."""

from __future__ import annotations

import argparse
import asyncio

from ..client.client import Client
from ..errors import UsageError
from ..inspector.board import Board
from ..inspector.inspector import ALLOWED, Inspector, inspect
from ..inspector.questions import Questions
from ..inspector.sources import ClientSource
from ..net.login.browser import open_browser
from ..transports.replaying import Recording
from .command import Answer, LocalCommand, LocalWork
from .connecting import client_for
from .screen import Screen
from .target import Server, only_server

__all__ = ["COMMAND"]


def _prepare(options: argparse.Namespace) -> LocalWork:
    is_named = bool(options.words) or options.server_command is not None
    if options.replay and is_named:
        raise UsageError("inspect shows a server or recordings, not both at once")
    if options.replay:
        recordings = [Recording(path) for path in options.replay]
        return lambda screen: _run(
            inspect(recordings, port=options.port, allow="look"), options, screen
        )
    if not is_named:
        raise UsageError("inspect which server? Give a URL, its command after --, or --replay FILE")
    server = only_server(options)
    return lambda screen: _run(_inspector(server, options, screen), options, screen)


def _inspector(server: Server, options: argparse.Namespace, screen: Screen) -> Inspector:
    """Return an inspector with a client of its own, whose server's questions the page answers."""
    questions = Questions(Board())

    def client_of(server: Server) -> Client:
        return client_for(
            server,
            options,
            screen,
            questions.show_login,
            elicitation=questions.elicitation,
            sampling=questions.sampling,
            roots=[],
        )

    source = ClientSource(client_of(server), lambda target: client_of(Server(target)))
    return Inspector(source, port=options.port, allow=options.allow, questions=questions)


async def _run(inspector: Inspector, options: argparse.Namespace, screen: Screen) -> Answer:
    """Serve the page until Ctrl-C."""
    async with inspector:
        inspector.connect_all()
        if options.json:
            screen.show_json({"url": inspector.url})
        else:
            screen.show(inspector.url)
        if not options.no_browser:
            await open_browser(inspector.url)
        screen.say("Open this address in a browser of this machine. Ctrl-C ends it.")
        await asyncio.get_running_loop().create_future()
    raise AssertionError("it ends by being cancelled")


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--replay",
        action="append",
        metavar="FILE",
        help="show a recorded session instead; given twice, the two can be compared",
    )
    parser.add_argument(
        "--port", type=int, default=0, metavar="NUMBER", help="where to listen; default: a free one"
    )
    parser.add_argument(
        "--allow",
        choices=ALLOWED,
        default="call",
        help="what the page may do: look, call (the default), or also add servers",
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="only print the address to be opened"
    )


COMMAND = LocalCommand(
    "inspect",
    _prepare,
    usage="[OPTION ...] [SERVER | --replay FILE | -- SERVER-COMMAND ...]",
    add_options=_add_options,
    takes_server=True,
    details=(
        "The page lists what the server offers, makes calls, answers what the server asks, and "
        "shows everything that crosses the wire. It is for browsers of this machine only; the "
        "address holds the token that opens it.\n\n"
        "examples:\n"
        "  mcpclient inspect http://localhost:3001/mcp\n"
        "  mcpclient inspect -- npx -y my-server\n"
        "  mcpclient inspect --replay before.jsonl --replay after.jsonl"
    ),
)
