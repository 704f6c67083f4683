"""One command, from its words to its exit code."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from ..client.client import Client
from ..errors import McpError, UsageError
from ..framing.escaping import escape
from ..net.ctrl_c import cancel_on_ctrl_c
from .command import Answer, LocalRequest, Request
from .commands import CANCELLED, FAILED
from .connecting import client_for
from .failures import error_as_json, error_text, exit_code
from .parsing import own_words, understand
from .screen import LogLines, Screen


def run(words: list[str]) -> int:
    """Run one command and return its exit code. ``--help`` raises SystemExit."""
    screen = Screen(sys.stdout, sys.stderr, os.environ)
    as_json = "--json" in words and "--json" in own_words(words)
    try:
        request = understand(words)
        with _log_lines(screen, request):
            return asyncio.run(_perform(request, screen))
    except McpError as error:
        _tell(error, screen, as_json=as_json, quiet="--quiet" in words)
        return exit_code(error)
    except (KeyboardInterrupt, asyncio.CancelledError):
        if as_json:
            _could_show(screen, {"error": {"type": "KeyboardInterrupt", "text": "cancelled"}})
        return CANCELLED


def _tell(error: McpError, screen: Screen, *, as_json: bool, quiet: bool) -> None:
    if as_json and _could_show(screen, {"error": error_as_json(error)}):
        return
    text = escape(error_text(error, stderr_was_shown=not quiet))
    screen.say_safely(f"{screen.error_style.bold('error:')} {text}")


def _could_show(screen: Screen, value: Any) -> bool:
    try:
        screen.show_json(value)
    except UsageError:  # stdout is closed, or full
        return False
    return True


async def _perform(request: Request | LocalRequest, screen: Screen) -> int:
    """Connect, do the work, show the answer at once, and close. Return the exit code."""
    cancel_on_ctrl_c()
    if isinstance(request, LocalRequest):
        answer = await request.work(screen)
        _show(answer, screen, as_json=request.options.json)
        return answer.exit_code
    client = client_for(request.server, request.options, screen)
    async with screen.status:
        try:
            try:
                await _connect(client, request, screen)
            except McpError as error:
                _tell(error, screen, as_json=request.options.json, quiet=request.options.quiet)
                return exit_code(error, connecting=True)
            answer = await request.work(client, screen)
            _show(answer, screen, as_json=request.options.json)
        except asyncio.CancelledError:
            screen.say("cancelled")  # now, since closing may take seconds
            raise
        finally:
            await client.close()
    return FAILED if answer.failed else answer.exit_code


async def _connect(client: Client, request: Request, screen: Screen) -> None:
    if _is_debugging(request.options):
        await _debugging().connect_loudly(client, request.server, screen)
    else:
        await client.connect()


def _is_debugging(options: argparse.Namespace) -> bool:
    wanted = os.environ.get("MCP_DEBUG", "").lower() in ("1", "true", "yes")
    return bool(options.debug) or wanted


def _debugging() -> Any:
    return import_module(".debugging", __package__)


def _show(answer: Answer, screen: Screen, *, as_json: bool) -> None:
    if answer.is_shown:
        return
    if as_json:
        screen.show_json(answer.raw)
    elif answer.failed:
        screen.say_safely(answer.shown_text)
    elif answer.content is not None and not screen.is_terminal:
        screen.show_bytes(answer.content)
    else:
        screen.show(answer.text)


@contextmanager
def _log_lines(screen: Screen, request: Request | LocalRequest) -> Iterator[None]:
    """Show the library's log on stderr: warnings, or with ``--debug`` everything."""
    lines = LogLines(screen)
    debug = _is_debugging(request.options)
    if debug:
        module = _debugging()
        lines.setFormatter(module.DebugLines(module.name_for(getattr(request, "server", None))))
    logger = logging.getLogger("mcpclient")
    level = logger.level
    logger.addHandler(lines)
    logger.setLevel(logging.DEBUG if debug else logging.WARNING)
    try:
        yield
    finally:
        logger.removeHandler(lines)
        logger.setLevel(level)
