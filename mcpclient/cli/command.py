"""The shape of a command, of its answer, and of the server that it talks to."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Union

from ..client.client import Client
from ..client.connection.targets import Target
from ..errors import UsageError
from .screen import Screen

if TYPE_CHECKING:
    from ..config.config import ServerConfig


_NOTHING: Mapping[str, Any] = {}


class Server(NamedTuple):
    """A server to connect to: its target, and the options of its configuration, if any.

    ``note`` and ``warnings`` (the problems of its entry) are shown before it connects. ``config``:
    its entry, if it has one, which is judged again before each start.
    """

    target: Target
    options: Mapping[str, Any] = _NOTHING
    note: str = ""
    warnings: Sequence[str] = ()
    config: ServerConfig | None = None

    def tell(self, say: Callable[[str], None]) -> None:
        """Show the note and the warnings about this server."""
        for line in filter(None, (self.note, *self.warnings)):
            say(line)


class Answer(NamedTuple):
    """The answer of a command.

    ``raw``: the wire objects, for ``--json``. ``text``: the same for people, safe for a terminal.
    ``content``: bytes to write unchanged where the output is not a terminal. ``failed``: a tool
    reported that it failed, so the text goes to stderr. ``exit_code``: of a command whose answer is
    a failed check. ``is_shown``: the command has shown everything itself.
    """

    raw: Mapping[str, Any]
    text: str
    content: bytes | None = None
    failed: bool = False
    exit_code: int = 0
    is_shown: bool = False

    @property
    def shown_text(self) -> str:
        """The text, or a sentence about a tool that failed without one."""
        is_silent = self.failed and not self.text
        return "the tool failed without a message" if is_silent else self.text


Work = Callable[[Client, Screen], Awaitable[Answer]]
"""The work of a command on a connected client."""


def _no_options(parser: argparse.ArgumentParser) -> None:
    pass


class Command(NamedTuple):
    """A command that talks to a server.

    ``required`` names the words it needs, ``more`` those that may follow, if any. ``details`` are
    for ``--help``. ``prepare`` takes the words and the options, checks them before anything is
    started, and returns the work; it raises `UsageError`. ``add_options`` adds options of its own
    to those for connecting.
    """

    name: str
    prepare: Callable[[Sequence[str], argparse.Namespace], Work]
    required: tuple[str, ...] = ()
    more: str | None = None
    details: str = ""
    add_options: Callable[[argparse.ArgumentParser], None] = _no_options

    def work(self, words: Sequence[str], options: argparse.Namespace) -> Work:
        """Return the work for these words. Raises `UsageError`."""
        missing = self.required[len(words) :]
        if missing:
            raise UsageError(f"{self.name} needs {' and '.join(missing)}")
        if self.more is None and len(words) > len(self.required):
            raise UsageError(f"{self.name} does not take {words[len(self.required)]!r}")
        return self.prepare(words, options)


LocalWork = Callable[[Screen], Awaitable[Answer]]
"""The work of a command that needs no client, or makes its own."""


class LocalCommand(NamedTuple):
    """A command that needs no connection, or that connects by itself.

    ``usage`` shows its words, ``add_options`` adds its options. ``prepare`` checks both before
    anything is started, and returns the work; it raises `UsageError`. ``takes_server``: it has
    the options for connecting, and ``server_command`` among them may be a command line after
    ``--``; see `target.find_server`. ``takes_command``: only the latter.
    """

    name: str
    prepare: Callable[[argparse.Namespace], LocalWork]
    usage: str
    add_options: Callable[[argparse.ArgumentParser], None] = _no_options
    takes_server: bool = False
    takes_command: bool = False
    details: str = ""


class Request(NamedTuple):
    """The checked work of a command and its server, not started yet."""

    server: Server
    work: Work
    options: argparse.Namespace


class LocalRequest(NamedTuple):
    """The checked work of a `LocalCommand`, not started yet."""

    work: LocalWork
    options: argparse.Namespace


class OuterCommand(NamedTuple):
    """A command that runs another one, with a file: ``NAME FILE [--] COMMAND …``.

    ``prepare`` takes its own options, among them ``file``, and the request of the inner command
    (None when there is no inner command). With ``needs_server`` False, the inner command need not
    name a server.
    """

    name: str
    prepare: Callable[[argparse.Namespace, Request | None], Request | LocalRequest]
    usage: str
    add_options: Callable[[argparse.ArgumentParser], None] = _no_options
    needs_server: bool = True
    details: str = ""


AnyCommand = Union[Command, LocalCommand, OuterCommand]
