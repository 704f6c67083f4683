"""One command, from its words to its exit code: its work, its log lines, its error."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import sys
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..client.client import Client
from ..errors import (
    AuthError,
    CallTimeout,
    ConnectKind,
    HttpError,
    McpError,
    NetworkError,
    ProcessExited,
    UsageError,
    safe_repr,
)
from ..errors.network import text_without_output
from ..framing.escaping import escape
from ..net.process.signals import Termination, cancel_on_ctrl_c
from .command import Answer, Request, Server
from .commands import (
    CANCELLED,
    NEEDS_AUTH,
    NO_CONNECTION,
    PROTOCOL_ERROR,
    TERMINATED,
    TIMEOUT,
    USAGE,
)
from .connecting import client_for
from .layout import Style, fill
from .parsing import name_server, own_words, understand
from .screen import LogLines, Screen


def run(words: list[str]) -> int:
    """Run one command and return its exit code. ``--help`` raises SystemExit."""
    screen = Screen(sys.stdout, sys.stderr, os.environ)
    as_json = "--json" in words and "--json" in own_words(words)
    request = None
    try:
        request = understand(words)
        with _log_lines(screen, request):
            work: Answer | Awaitable[Answer]
            if request.server is not None:
                work = _ask(request, request.server, screen)
            else:
                work = request.function(screen, request.options)
            return asyncio.run(_perform(work, screen, as_json=request.options.json))
    except McpError as error:
        if request is not None:
            advise(error, request.options, request.server)
        if not (as_json and _could_show(screen, {"error": error_as_json(error)})):
            text = error_text(error, stderr_was_shown="--quiet" not in words)
            screen.say_safely(shown_error(text, screen.error_style))
        is_connecting = request is not None and not getattr(request.options, "is_connected", True)
        return exit_code(error, connecting=is_connecting)
    except (KeyboardInterrupt, asyncio.CancelledError):
        if as_json:
            _could_show(screen, {"error": {"type": "KeyboardInterrupt", "text": "cancelled"}})
        return CANCELLED


def _could_show(screen: Screen, value: Any) -> bool:
    try:
        screen.show_json(value)
    except UsageError:  # stdout is closed, or full
        return False
    return True


async def _perform(work: Answer | Awaitable[Answer], screen: Screen, *, as_json: bool) -> int:
    """Do the work and show its answer. Return the exit code."""
    cancel_on_ctrl_c()
    termination = Termination()
    try:
        answer = work if isinstance(work, Answer) else await work
        _show(answer, screen, as_json=as_json)
    except asyncio.CancelledError:
        if termination.requested:
            return TERMINATED
        raise
    return answer.exit_code


async def _ask(request: Request, server: Server, screen: Screen) -> Answer:
    """Connect, do the work, show the answer at once, and close."""
    client = client_for(server, request.options, screen)
    try:
        async with screen.status:
            await _connect(client, request.options, server, screen)
            request.options.is_connected = True
            answer: Answer = await request.function(client, screen, request.options)
        _show(answer, screen, as_json=request.options.json)
    except asyncio.CancelledError:
        screen.say("cancelled")  # now, since closing may take seconds
        raise
    finally:
        await client.close()
    return answer._replace(is_shown=True)


def _is_debugging(options: argparse.Namespace) -> bool:
    wanted = os.environ.get("MCP_DEBUG", "").lower() in ("1", "true", "yes")
    return bool(options.debug) or wanted


def _show(answer: Answer, screen: Screen, *, as_json: bool) -> None:
    if answer.is_shown:
        return
    if as_json:
        screen.show_json(answer.raw)
    elif answer.failed:
        screen.say_safely(answer.text)
    elif answer.content is not None and not screen.is_terminal:
        screen.show(answer.content)
    else:
        screen.show(answer.text if answer.is_code else fill(answer.text, screen.style.columns))
    for note in answer.notes:
        screen.say(note)


@contextmanager
def _log_lines(screen: Screen, request: Request) -> Iterator[None]:
    """Show the library's log on stderr: warnings, or with ``--debug`` everything."""
    lines = LogLines(screen)
    debug = _is_debugging(request.options)
    if debug:
        name = request.server.name if request.server is not None else "mcpclient"
        name = name.replace("%", "%%")
        lines.setFormatter(logging.Formatter(f"[MCP:{name}] %(asctime)s %(name)s: %(message)s"))
    elif request.options.command == "listen":  # it shows log messages of the server by itself
        lines.addFilter(lambda record: record.name != "mcpclient.server")
    logger = logging.getLogger("mcpclient")
    level = logger.level
    logger.addHandler(lines)
    logger.setLevel(logging.DEBUG if debug else logging.WARNING)
    try:
        yield
    finally:
        logger.removeHandler(lines)
        logger.setLevel(level)


def advise(error: McpError, options: argparse.Namespace, server: Server | None) -> None:
    """Give an error its hint in the words of a shell, with the server that was named."""
    from ..hints import hint_for
    from ..hints.shell import SHELL

    hint = hint_for(error, SHELL)
    if not hint and str(error).startswith(f"{options.command} "):
        hint = f"See how it is used with: mcpclient {options.command} --help"
    error.advise(name_server(hint, options, server))


def exit_code(error: McpError, *, connecting: bool = False) -> int:
    """Return the exit code for an error.

    ``connecting``: it was raised before there was a connection, and the code reports that.
    """
    is_wrong_folder = getattr(error, "kind", None) == ConnectKind.WORKING_DIRECTORY
    if isinstance(error, UsageError) or is_wrong_folder:
        return USAGE
    is_refused = isinstance(error, HttpError) and error.status in (401, 403)
    if isinstance(error, AuthError) or is_refused:
        return NEEDS_AUTH
    if connecting:
        return NO_CONNECTION
    if isinstance(error, CallTimeout):
        return TIMEOUT
    return NO_CONNECTION if isinstance(error, NetworkError) else PROTOCOL_ERROR


def error_text(error: McpError, *, stderr_was_shown: bool) -> str:
    """Return the message and hint of an error, without the server's stderr if that was shown."""
    text, hint = text_and_hint(error)
    if isinstance(error, ProcessExited) and stderr_was_shown:
        text = text_without_output(error)
    return "\n".join(filter(None, (text, hint)))


def in_short(error: McpError) -> str:
    """Return the reason of an error on one line, for a list that names the server beside it."""
    reason = getattr(error, "reason", "") or text_without_output(error)
    return str(reason).partition("\n")[0]


def shown_error(text: str, style: Style) -> str:
    """Return an error for a terminal: escaped, and wrapped to its width."""
    return fill(f"{style.bold('error:')} {escape(text)}", style.columns)


def text_and_hint(error: McpError) -> tuple[str, str]:
    """Return the message and the hint of an error; the hint is "" if the message contains it."""
    from ..errors.authorization import RegistrationRequired
    from ..hints import hint_for
    from ..hints.remote import names_no_login
    from ..hints.shell import SHELL

    text = str(error)
    if isinstance(error, RegistrationRequired) and names_no_login(error):
        text = str(error.__cause__)
    elif isinstance(error, AuthError) and isinstance(error.__cause__, HttpError):
        text += f"\nAuthorization was needed because of: {error.__cause__}"
    return text, hint_for(error, SHELL)


def error_as_json(error: BaseException) -> dict[str, Any]:
    """Return an error with all its fields; ``type`` and ``text`` come first."""
    from ..hints import hint_for
    from ..hints.shell import SHELL

    fields = {name: _flat(value) for name, value in vars(error).items() if name[0] != "_"}
    hint = hint_for(error, SHELL)
    said = {"hint": hint, "cure": hint} if isinstance(error, McpError) else {}
    return {"type": type(error).__name__, "text": str(error), **said, **fields}


def _flat(value: Any) -> Any:
    """Return the value in a form that can be printed as JSON, however deep it is."""
    try:
        return json.loads(json.dumps(value, default=_plain))
    except RecursionError:
        return safe_repr(value)


def _plain(value: Any) -> Any:
    if isinstance(value, BaseException):
        return error_as_json(value)
    if isinstance(value, Mapping):
        return dict(value)
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


async def _connect(
    client: Client, options: argparse.Namespace, server: Server, screen: Screen
) -> None:
    """Connect; when debugging, show the time that it took and the server's capabilities."""
    if not _is_debugging(options):
        await client.connect()
        return
    prefix = f"[MCP:{server.name}]"
    loop = asyncio.get_running_loop()
    started = loop.time()
    screen.say(f"{prefix} connecting to {client.target}")
    await client.connect()
    milliseconds = (loop.time() - started) * 1000
    info = client.server_info
    screen.say(
        f"{prefix} connected (transport: {client.transport_name}, "
        f"revision: {client.protocol_version}) in {milliseconds:.0f}ms to "
        f"{info.name or 'a server without a name'} {info.version or ''}".rstrip()
    )
    screen.say(f"{prefix} capabilities: {json.dumps(client.capabilities)}")
