"""``mcpclient inspect``: watch client and server in the browser."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from ..client.client import Client
from ..config.config import Config
from ..errors import UsageError
from ..gate.gate import Approvals
from ..inspector.board import Board, Questions
from ..inspector.inspector import Inspector, inspect
from ..inspector.report import report
from ..inspector.servers import ClientSource, ManagerSource, Room, Source
from ..manager.manager import Manager
from ..net.files import write_file
from ..net.login.browser import open_browser
from ..net.user_folders import state_folder
from ..transports.replaying import Recording
from .command import Answer, LocalCommand, Server, choice, flag, option
from .configured import load
from .connecting import client_for, with_options
from .parsing import is_named, only_server
from .render import writing
from .screen import Screen

_NONE = (
    "no server is configured: name one, as in: mcpclient inspect URL, or inspect -- COMMAND, "
    "or --replay FILE"
)


@LocalCommand(
    "inspect",
    usage="[OPTION ...] [SERVER | RECORDING.jsonl | -- SERVER-COMMAND ...]",
    options=(
        option("--replay", "FILE", "show a recording; of two, compare them", action="append"),
        option("--html", "OUT", "write the recording as one page that opens anywhere, and end"),
        option("--port", "NUMBER", "port to listen at; default: a free one", type=int, default=0),
        choice("--allow", ("call", "look", "add"), "rights of the page; call by default"),
        flag("--no-browser", "only print the address to open"),
    ),
    takes_server=True,
    details="Without a server: all that are configured. The page lists the features of a server, "
    "makes calls, answers the server's questions, and shows every message on the wire. Only "
    "browsers on this machine can open it; the address contains its token.\n\n"
    "examples:\n"
    "  mcpclient inspect http://localhost:3001/mcp\n"
    "  mcpclient inspect -- npx -y my-server\n"
    "  mcpclient inspect my-server\n"
    "  mcpclient inspect --replay before.jsonl --replay after.jsonl\n"
    "  mcpclient inspect session.jsonl --html report.html",
)
def _inspect(screen: Screen, options: argparse.Namespace) -> Awaitable[Answer]:
    if options.replay and is_named(options):
        raise UsageError("inspect shows a server or recordings, not both at once")
    replay = options.replay or [word for word in options.words if word.endswith(".jsonl")]
    if options.html and not replay:
        raise UsageError("--html needs a recording: mcpclient inspect FILE.jsonl --html OUT")
    if replay:
        recordings = [Recording(path) for path in replay]
        if options.html:
            return _write_page(recordings, options.html)
        return _run(inspect(recordings, port=options.port, allow="look"), options, screen)
    if not is_named(options):
        return _run_all(load(options.config, otherwise=_NONE, say=screen.say), options, screen)
    server = only_server(options)
    if server.config is not None:
        return _run_all(Config({server.config.name: server.config}), options, screen)
    return _run(_inspector(server, options, screen), options, screen)


async def _write_page(recordings: Sequence[Recording], path: str) -> Answer:
    text = await report(Room(Source(recordings), Questions(Board())))
    with writing(path):
        write_file(path, text.encode())
    return Answer({"file": path, "bytes": len(text.encode())}, f"saved {path}")


async def _run_all(config: Config, options: argparse.Namespace, screen: Screen) -> Answer:
    questions = Questions(Board())
    answers = _answers(questions)
    servers = {}
    for name, server in config.servers.items():
        show_login = partial(questions.show_login, name)
        servers[name] = with_options(server, options, screen, show_login=show_login, **answers)
    async with Manager(servers, wait="none") as manager:
        source = ManagerSource(manager, Approvals())
        inspector = Inspector(source, port=options.port, allow=options.allow, questions=questions)
        inspector.room.observe()
        return await _run(inspector, options, screen, connect=False)


def _answers(questions: Questions) -> dict[str, Any]:
    return {
        "elicitation": questions.elicitation,
        "sampling": questions.sampling,
        "roots": [],
    }


def _inspector(server: Server, options: argparse.Namespace, screen: Screen) -> Inspector:
    questions = Questions(Board())

    def client_of(server: Server, name: str | None = None) -> Client:
        def show_login(url: str) -> Awaitable[bool]:
            return questions.show_login(name or client.target, url)

        answers = _answers(questions)
        client = client_for(server, options, screen, show_login=show_login, **answers)
        return client

    source = ClientSource(client_of(server), lambda name, target: client_of(Server(target), name))
    return Inspector(source, port=options.port, allow=options.allow, questions=questions)


async def _run(
    inspector: Inspector, options: argparse.Namespace, screen: Screen, *, connect: bool = True
) -> Answer:
    """Serve the page until Ctrl-C. ``connect``: connect the servers, too."""
    async with inspector:
        if connect:
            inspector.connect_all()
        if options.json:
            screen.show_json({"url": inspector.url})
        else:
            screen.show(inspector.url)
        screen.say("Open this address in a browser on this machine. Press Ctrl-C to stop.")
        page = state_folder(os.environ) / "inspectors" / f"{os.urandom(8).hex()}.html"
        try:
            if not options.no_browser:
                await open_browser(inspector.url, through=page)
            await asyncio.get_running_loop().create_future()
        finally:
            with suppress(OSError):
                page.unlink()
    raise AssertionError("it ends by being cancelled")
