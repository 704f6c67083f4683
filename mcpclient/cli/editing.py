"""``mcpclient add`` and ``mcpclient remove``: servers in a configuration file."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Any

from ..config.writing import add_server, remove_server
from ..errors import UsageError
from ..net.paths import absolute_path, config_folder
from .command import Answer, LocalCommand, LocalWork
from .connecting import pairs_in
from .render import one_line
from .screen import Screen
from .target import URL_SCHEMES, add_env_option, add_header_option


def add_file_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which file is meant."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        *("--scope",),
        choices=("project", "user"),
        default="project",
        help="the file of this project, .mcp.json (the default), or of this user",
    )
    group.add_argument("--config", metavar="FILE", help="another file, of any application")


def file_named(options: argparse.Namespace) -> str:
    """Return the path of the file."""
    if options.config is not None:
        return str(options.config)
    if options.scope == "user":
        return str(config_folder(os.environ) / "mcp.json")
    return absolute_path(".mcp.json")


def _prepare_add(options: argparse.Namespace) -> LocalWork:
    words: Sequence[str] = options.words
    if not words:
        raise UsageError("add needs a name for the server")
    name, *target = words
    entry = _entry(target, options)
    path = file_named(options)

    async def work(screen: Screen) -> Answer:
        try:
            add_server(path, name, entry, replace=options.replace)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror or error}") from None
        return Answer({"added": name, "file": path}, f"added {one_line(name)} to {one_line(path)}")

    return work


def _entry(words: Sequence[str], options: argparse.Namespace) -> dict[str, Any]:
    """Return the entry as files have it. Raises `UsageError`."""
    env = pairs_in(options.env, "=", "--env")
    headers = pairs_in(options.header, ":", "--header")
    if options.server_command is None and len(words) == 1 and "://" in words[0]:
        if not words[0].lower().startswith(URL_SCHEMES):
            raise UsageError(f"not the URL of a server: {words[0]!r}")
        if env:
            raise UsageError("--env needs a server that is started here")
        kind = {"type": options.transport} if options.transport else {}
        return {**kind, "url": words[0], **({"headers": headers} if headers else {})}
    command = [*words, *(options.server_command or ())]
    if not command:
        raise UsageError("add needs a URL, or the command that starts the server after --")
    if headers or options.transport:
        raise UsageError("--header and --transport need a URL")
    entry: dict[str, Any] = {"command": command[0], "args": command[1:]}
    return {**entry, **({"env": env} if env else {})}


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_file_options(parser)
    add_env_option(parser)
    add_header_option(parser)
    parser.add_argument("--transport", metavar="NAME", help="http or sse, for a URL")
    parser.add_argument("--replace", action="store_true", help="in place of one of this name")


ADD = LocalCommand(
    "add",
    _prepare_add,
    usage="[OPTION ...] NAME [URL | -- SERVER-COMMAND ...]",
    add_options=_add_options,
    takes_command=True,
    details=(
        "A value such as '${TOKEN}' is put in when the server is connected, so that the file holds "
        "no secret.\n\n"
        "examples:\n"
        "  mcpclient add docs https://example.com/mcp\n"
        "  mcpclient add files --scope user -- npx -y my-server /tmp\n"
        "  mcpclient add api https://example.com/mcp --header 'X-Key: ${API_KEY}'"
    ),
)


def _prepare_remove(options: argparse.Namespace) -> LocalWork:
    if len(options.words) != 1:
        raise UsageError("remove needs the name of one server")
    (name,) = options.words
    path = file_named(options)

    async def work(screen: Screen) -> Answer:
        try:
            remove_server(path, name)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror or error}") from None
        told = f"removed {one_line(name)} from {one_line(path)}"
        return Answer({"removed": name, "file": path}, told)

    return work


REMOVE = LocalCommand(
    "remove",
    _prepare_remove,
    usage="[--scope SCOPE | --config FILE] NAME",
    add_options=add_file_options,
)
