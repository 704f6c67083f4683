"""``mcpclient add``: write a server into a configuration file."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from ..config.writing import add_server
from ..errors import UsageError
from .command import Answer, LocalCommand, LocalWork
from .config_file import add_file_options, file_named
from .connecting import pairs_in
from .render import one_line
from .screen import Screen
from .target import URL_SCHEMES, add_env_option, add_header_option


def _prepare(options: argparse.Namespace) -> LocalWork:
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


COMMAND = LocalCommand(
    "add",
    _prepare,
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
