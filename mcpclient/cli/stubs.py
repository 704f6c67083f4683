"""Typed stubs of a server, written into a file or compared with one."""

from __future__ import annotations

import argparse
import difflib
import os
from collections.abc import Awaitable, Sequence

from ..client.client import Client
from ..display import shown_path, shown_url
from ..errors import UsageError
from ..framing.escaping import escape
from ..net.files import write_file
from ..net.regular_files import read_file
from ..recording.secrets import is_secret_name
from ..stubs.stubs import Offer, stubs_for
from .command import Answer, LocalCommand, Server, flag, option
from .commands import FAILED
from .connecting import client_for
from .features import templates_of
from .parsing import only_server
from .render import reading, writing
from .screen import Screen

_MAX_FILE = 64 * 1024 * 1024


@LocalCommand(
    "stubs",
    usage="[OPTION ...] [SERVER] [-- SERVER-COMMAND ...]",
    options=(
        option("-o --output", "FILE", "file to write; default: stdout"),
        option("--name", None, "name of the server in the file; default: its own"),
        flag("--check", "compare with FILE: print the differences, and exit with code 1"),
    ),
    takes_server=True,
    details="A file of Python: a class with a method for each tool, prompt and resource template, "
    "and types from their schemas.",
)
def _stubs(screen: Screen, options: argparse.Namespace) -> Awaitable[Answer]:
    if options.check and options.output is None:
        raise UsageError("--check needs the file to compare: -o FILE")
    return _write_stubs(only_server(options), screen, options)


async def _write_stubs(server: Server, screen: Screen, options: argparse.Namespace) -> Answer:
    async with client_for(server, options, screen) as client:
        options.is_connected = True
        offer = await _offer(client, server, options.name)
    source = stubs_for(offer)
    raw = {"tools": len(offer.tools), "file": options.output}
    if options.output is None:
        return Answer({**raw, "source": source}, source, is_code=True)
    if options.check:
        changes = _changes(options.output, source)
        code = FAILED if changes else 0
        return Answer({**raw, "changes": changes}, "\n".join(changes), exit_code=code)
    with writing(options.output):
        write_file(options.output, source.encode())
    if offer.target == "":
        screen.say(
            "The file does not name the target, which may hold a secret: pass it to connect()."
        )
    return Answer(raw, f"{options.output}: {len(offer.tools)} tools")


async def _offer(client: Client, server: Server, name: str | None) -> Offer:
    capabilities = client.capabilities
    configured = server.config
    info = client.server_info
    about = " ".join(filter(None, (info.title or info.name, info.version)))
    return Offer(
        name or (configured.name if configured else info.name) or "server",
        await client.list_tools(),
        await client.list_prompts() if "prompts" in capabilities else (),
        await templates_of(client) if "resources" in capabilities else (),
        None if configured is not None and name in (None, configured.name) else _target(server),
        about,
    )


def _target(server: Server) -> str | Sequence[str]:
    """Return the target that the file may name; empty if it may hold a secret."""
    target = server.target
    if isinstance(target, (str, os.PathLike)):
        path = os.fspath(target)
        return path if "://" not in path or shown_url(path) == path.rstrip("/") else ""
    words = [str(word) for word in target] if isinstance(target, Sequence) else []
    names = [word.partition("=")[0].lstrip("-") for word in words]
    path = "/".join(words)
    return "" if any(map(is_secret_name, names)) or shown_path(path) != path else words


def _changes(path: str, source: str) -> list[str]:
    with reading(path):
        before = read_file(path, limit=_MAX_FILE).decode("utf-8", "replace")
    lines = difflib.unified_diff(
        before.splitlines(), source.splitlines(), path, "as the server is now", lineterm="", n=1
    )
    return [escape(line) for line in lines]
