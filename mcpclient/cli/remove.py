"""``mcpclient remove``: take a server out of a configuration file."""

from __future__ import annotations

import argparse

from ..config.writing import remove_server
from ..errors import UsageError
from .command import Answer, LocalCommand, LocalWork
from .config_file import add_file_options, file_named
from .render import one_line
from .screen import Screen


def _prepare(options: argparse.Namespace) -> LocalWork:
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


COMMAND = LocalCommand(
    "remove", _prepare, usage="[--scope SCOPE | --config FILE] NAME", add_options=add_file_options
)
