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
    from ..config.server import ServerConfig


_NOTHING: Mapping[str, Any] = {}


class Server(NamedTuple):
    """What to connect to: a target, and the options that its configuration has for it, if any.

    ``note``: what its user is told before. ``warnings``: what is wrong with its entry, likewise.
    ``config``: its entry, where it has one, to be judged again before it starts again.
    """

    target: Target
    options: Mapping[str, Any] = _NOTHING
    note: str = ""
    warnings: Sequence[str] = ()
    config: ServerConfig | None = None

    def tell(self, say: Callable[[str], None]) -> None:
        """Tell the user what is to be told before."""
        for line in filter(None, (self.note, *self.warnings)):
            say(line)


class Answer(NamedTuple):
    """What a command found out.

    ``raw``: the wire objects, for ``--json``. ``text``: the same for people, safe for a terminal.
    ``content``: bytes to write unchanged where the output is not a terminal. ``failed``: a tool
    reported that it failed, so that the text goes to stderr. ``exit_code``: what a command ends
    with that found something wrong, and shows it like any other answer. ``is_shown``: the command
    has shown everything itself.
    """

    raw: Mapping[str, Any]
    text: str
    content: bytes | None = None
    failed: bool = False
    exit_code: int = 0
    is_shown: bool = False

    @property
    def shown_text(self) -> str:
        """The text; of a tool that failed without one, that it did."""
        is_silent = self.failed and not self.text
        return "the tool failed and does not say why" if is_silent else self.text


Work = Callable[[Client, Screen], Awaitable[Answer]]
"""What a command does once it is connected."""


def _no_options(parser: argparse.ArgumentParser) -> None:
    pass


class Command(NamedTuple):
    """A command that talks to a server.

    ``required`` names the words it needs, ``more`` those that may follow, if any. ``details`` are
    for ``--help``. ``prepare`` takes the words and the options, checks them before anything is
    started, and returns what to do; it raises `UsageError`. ``add_options`` adds options of its own
    to those for connecting.
    """

    name: str
    prepare: Callable[[Sequence[str], argparse.Namespace], Work]
    required: tuple[str, ...] = ()
    more: str | None = None
    details: str = ""
    add_options: Callable[[argparse.ArgumentParser], None] = _no_options

    def work(self, words: Sequence[str], options: argparse.Namespace) -> Work:
        """Return what to do for these words. Raises `UsageError`."""
        missing = self.required[len(words) :]
        if missing:
            raise UsageError(f"{self.name} needs {' and '.join(missing)}")
        if self.more is None and len(words) > len(self.required):
            raise UsageError(f"{self.name} does not take {words[len(self.required)]!r}")
        return self.prepare(words, options)


LocalWork = Callable[[Screen], Awaitable[Answer]]
"""What a command does that is not connected for it."""


class LocalCommand(NamedTuple):
    """A command that needs no connection, or that connects by itself.

    ``usage`` shows its words, ``add_options`` adds its options. ``prepare`` checks both before
    anything is started, and returns what to do; it raises `UsageError`. ``takes_server``: it has
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
    """What to do with which server: checked, and not started yet."""

    server: Server
    work: Work
    options: argparse.Namespace


class LocalRequest(NamedTuple):
    """What to do for a command that is not connected for it: checked, and not started yet."""

    work: LocalWork
    options: argparse.Namespace


class OuterCommand(NamedTuple):
    """A command that runs another one, with a file: ``NAME FILE [--] COMMAND …``.

    ``prepare`` takes its own options, among them ``file``, and what the inner command would do
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
