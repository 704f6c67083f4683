"""``mcpclient open``, ``sessions`` and ``close``: servers that stay open between two commands."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import sys
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from importlib import import_module
from typing import Any

from ..client.client import Client
from ..client.connection.options import Wiring
from ..errors import UsageError
from ..framing.escaping import escape
from ..net.clocks import seconds_since_epoch
from ..sessions import sockets
from ..sessions.forks import start_helper
from ..sessions.front import is_session_name
from ..sessions.open_session import OpenSession, SessionTransport
from ..sessions.sockets import Place
from .command import Answer, LocalCommand, Server, flag, seconds
from .configured import doctored, load
from .connecting import client_for
from .layout import table
from .main import main
from .parsing import find_server, understand
from .render import writing
from .screen import Screen

_IDLE = 1800.0  # seconds
_MAX_LOG = 512 * 1024  # bytes, without the last line
_WORDS = "MCPCLIENT_SESSION"  # the variable of a session's process
_FIELDS = ("server", "version", "since", "folder", "callers", "process")
_COLUMNS = ("server", "age", "folder", "callers", "process")
# Modules that commands import when they need them, and the helper before it forks.
_WARMED = (
    *(".features", ".running", ".asking", "..adapters.limits"),
    *("..protocol.schema", "..formats.uri_template", "..client.feed", "..client.typed_results"),
)


@LocalCommand(
    "open",
    usage="[OPTION ...] [NAME] [SERVER | -- SERVER-COMMAND ...]",
    options=(
        seconds("--idle", "longest pause (1800); 0: no limit", _IDLE),
        flag("--all", "open every configured server, each as a session of its own"),
    ),
    takes_server=True,
    details="The server stays open in the background, and @NAME stands for it in every command "
    "that takes a server, until mcpclient close @NAME. It keeps its state between calls. Its "
    "questions are asked in the terminal of the command that caused them.\n\n"
    "examples:\n"
    "  mcpclient open browser -- npx -y @playwright/mcp\n"
    "  mcpclient call @browser browser_navigate url=https://example.com\n"
    "  mcpclient close @browser",
)
def _open(screen: Screen, options: argparse.Namespace) -> Awaitable[Answer]:
    if os.environ.pop(_WORDS, None) is None:
        return _start(screen, options)
    name, server = _named(options)
    place = Place.of(name, os.environ)
    listener, token = sockets.listen(place)
    lifeline = start_helper(place, listener, _run_command)

    async def work() -> Answer:
        with writing(place.log):
            log = _Log(place.log)

        def heard(line: str) -> None:
            log.write(line)
            if not session.opened.done():
                screen.say(line)

        def tell_helper(group: int) -> None:
            if lifeline is not None:
                with suppress(OSError):  # it has died; commands then run in their own processes
                    lifeline.send(b"%d\n" % group)

        def make_client(wiring: Wiring) -> Client:
            return client_for(server, options, screen, stderr=heard, _wiring=wiring)

        session = OpenSession(name, make_client, token, options.idle)
        serving = await session.serve(listener)
        try:
            async with session.client:
                if options.json:
                    screen.show_json(_shown(session.state()))
                else:
                    screen.show(f"@{name}")
                sockets.detach(log.file.fileno())  # from the terminal: stderr goes to the log
                tell_helper(session.process_id or 0)
                session.opened.set_result(None)
                reason = await session.over
            log.write(f"mcpclient: the session ended: {reason or 'it was closed, or idle'}")
        finally:
            serving.close()
            tell_helper(0)
            sockets.clean(place)
        return Answer(is_shown=True)

    return work()


def _named(options: argparse.Namespace) -> tuple[str, Server]:
    name = ""
    if len(options.words) == (2 if options.server_command is None else 1):
        name = options.words.pop(0).lstrip("@")
    server = find_server(options)
    if options.words:
        raise UsageError(f"open does not take {options.words[0]!r}")
    if not name:
        letters = (each if is_session_name(each) or each in "-_" else "-" for each in server.name)
        name = "".join(letters)
    return name, server


async def _start(screen: Screen, options: argparse.Namespace) -> Answer:
    # Other users see the arguments of a process, so secrets among the words must not be there.
    source = f"import sys, os, json; sys.path[:] = {sys.path!r}; import {__package__}.main as cli; "
    source += f"sys.exit(cli.main(json.loads(os.environ[{_WORDS!r}])))"

    async def start(words: Sequence[str]) -> tuple[int, str]:
        command = [sys.executable, "-c", source]
        return await sockets.start_in_background(command, {_WORDS: json.dumps(words)})

    if not options.all:
        code, written = await start(options.line)
        screen.show(written.encode())
        return Answer(exit_code=code, is_shown=True)
    if options.words or options.server_command is not None:
        raise UsageError("open --all takes no server")
    words = [word for word in options.line if word not in ("--all", "--json")]

    async def start_named(name: str) -> tuple[int, dict[str, Any]]:
        code, written = await start([*words, "--json", name])
        found = json.loads(written) if written else {}
        if not options.json and "session" in found:
            screen.show(found["session"])
        elif not options.json:
            error = found.get("error", {})
            reason = error.get("reason") or error.get("text") or f"exit code {code}"
            screen.say(f"{name}: {reason}".partition("\n")[0])
        return code, {"server": name, **found}

    servers = load(options.config).servers.values()
    ready = [each.name for each in servers if each.state == "ready" and each.enabled]
    async with screen.status:
        outcomes = await asyncio.gather(*map(start_named, ready))
    failed = [found["server"] for code, found in outcomes if code]
    raw = {"opened": [found for _, found in outcomes]}
    code = max((code for code, _ in outcomes), default=0)
    return Answer(raw, exit_code=code, notes=doctored(failed, options.config))


def _run_command(words: list[str]) -> int:
    """Run a command in a fork of the helper; without words, import what commands need."""
    if words:
        return main(words)
    for name in _WARMED:
        import_module(name, __package__)
    for command in ("call", "tools", "read"):
        understand([command, "@s", "name"])  # a longer name may be too long for a socket
    asyncio.run(asyncio.sleep(0))
    gc.freeze()  # so that no collection in a fork copies all pages
    return 0


class _Log:
    """The stderr of a session's server, of which a file keeps the end."""

    def __init__(self, path: str) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC
        self.file = open(sockets.open_own(path, flags), "w+b", buffering=0)  # noqa: SIM115 - stays

    def write(self, line: str) -> None:
        """Add a line; the older half goes when it has grown too long."""
        if self.file.tell() > _MAX_LOG:
            self.file.seek(-_MAX_LOG // 2, os.SEEK_END)
            kept = self.file.read()
            self.file.seek(0)
            self.file.truncate()
            self.file.write(kept)
        self.file.write(f"{line}\n".encode("utf-8", "replace"))


def _shown(state: Mapping[str, Any]) -> dict[str, Any]:
    return {"session": f"@{state['name']}", **{name: state.get(name) for name in _FIELDS}}


def _age(since: str) -> str:
    """Return the time since then in its largest unit."""
    began = datetime.fromisoformat(since.replace("Z", "+00:00")).timestamp()
    seconds = int(seconds_since_epoch() - began)
    size, unit = next(pair for pair in _UNITS if seconds >= pair[0] or pair[0] == 1)
    return f"{seconds // size} {unit}"


_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


@LocalCommand(
    "sessions",
    usage="[--log @NAME]",
    options=(flag("--log", "show the stderr of a session's server"),),
)
def _sessions(screen: Screen, options: argparse.Namespace) -> Answer:
    names = [word.lstrip("@") for word in options.words]
    if options.log and len(names) != 1:
        raise UsageError("sessions --log needs one session, such as @browser")
    if names and not options.log:
        raise UsageError(f"sessions does not take {options.words[0]!r}")
    if options.log:
        log = sockets.read_log(Place.of(names[0], os.environ))
        text = log.decode("utf-8", "replace")
        return Answer({"log": text}, escape(text).rstrip("\n"))
    places = [Place.of(name, os.environ) for name in sockets.session_names(os.environ)]
    states = [sockets.ask(place, "mcpclient/state") for place in places]
    found = [_shown(state) for state in states if state]
    rows = [
        [each["session"], *(str({**each, "age": _age(each["since"])}[name]) for name in _COLUMNS)]
        for each in found
    ]
    header = ["SESSION", *map(str.upper, _COLUMNS)]
    return Answer({"sessions": found}, table(header, rows, screen.style, "no session is open"))


@LocalCommand(
    "close", usage="@NAME ... | --all", options=(flag("--all", "end all sessions of this user"),)
)
def _close(screen: Screen, options: argparse.Namespace) -> Answer:
    names = [word.lstrip("@") for word in options.words]
    if bool(names) == options.all:
        raise UsageError("close needs the names of sessions, such as @browser, or --all")
    wanted = sockets.session_names(os.environ) if options.all else names
    places = {name: Place.of(name, os.environ) for name in wanted}
    closed = [name for name in wanted if sockets.ask(places[name], "mcpclient/close")]
    missing = [name for name in wanted if name not in closed]
    if missing and not options.all:
        raise SessionTransport(missing[0]).missing()
    shown = [f"@{name}" for name in closed]
    return Answer({"closed": shown}, "\n".join(f"closed {name}" for name in shown))
