"""The shape of a command, of its answer, and of the server that it talks to."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, Generic, NamedTuple, TypeVar, Union

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

    @property
    def name(self) -> str:
        """Its configured name, or else its host or its command."""
        from ..client.connection.target_names import derive_name

        return str(self.options.get("name") or derive_name(self.target))

    @property
    def notes(self) -> list[str]:
        """The lines to show before it connects."""
        return list(filter(None, (self.note, *self.warnings)))


class Answer(NamedTuple):
    """The answer of a command, of the command line or of the shell.

    ``raw``: the wire objects, for ``--json``. ``text``: the same for people, safe for a terminal.
    ``content``: bytes for a pipe or a file in place of the text. ``failed``: a tool reported
    that it failed, so the text goes to stderr. ``exit_code``: of a tool that failed, a line that
    did, and a command whose answer is a failed check. ``is_shown``: the command has shown
    everything itself. ``value``: the result for `_` of the shell, where it is not ``raw``.
    ``notes``: lines for stderr, shown after the text. ``is_code``: no line of the text is wrapped.
    """

    raw: Mapping[str, Any] = _NOTHING
    text: str = ""
    content: bytes | None = None
    failed: bool = False
    exit_code: int = 0
    is_shown: bool = False
    value: Any = None
    notes: Sequence[str] = ()
    is_code: bool = False


Option = Callable[[argparse.ArgumentParser], object]
"""Adds an option to a parser, or to a group of one. Commands have tables of them."""


def flag(name: str, meaning: str) -> Option:
    """Return an option without a value."""
    return lambda parser: parser.add_argument(name, action="store_true", help=meaning)


def option(names: str, metavar: str | None, meaning: str, **settings: Any) -> Option:
    """Return an option with a value, by its names with spaces between them.

    ``settings``: as of `argparse.ArgumentParser.add_argument`. A ``type`` raises `UsageError`.
    """
    return lambda parser: parser.add_argument(
        *names.split(), metavar=metavar, help=meaning, **settings
    )


def choice(name: str, choices: Sequence[str], meaning: str) -> Option:
    """Return an option with one of these values, of which the first is the default."""
    return option(name, None, meaning, choices=choices, default=choices[0])


def repeated(name: str, metavar: str, meaning: str, **settings: Any) -> Option:
    """Return an option that may be given more than once; its value is a list."""
    return option(name, metavar, f"{meaning} (repeatable)", action="append", default=[], **settings)


def either(*options: Option) -> Option:
    """Return options of which only one may be given."""

    def add(parser: argparse.ArgumentParser) -> None:
        group: Any = parser.add_mutually_exclusive_group()
        for each in options:
            each(group)

    return add


def pair(separator: str, option: str) -> Callable[[str], tuple[str, str]]:
    """Return the type of an option whose values are a name and a value."""

    def split(text: str) -> tuple[str, str]:
        name, found, value = text.partition(separator)
        if not found or not name.strip():
            raise UsageError(f"{option} takes NAME{separator}VALUE")
        return name.strip(), value.strip() if separator == ":" else value

    return split


def seconds(name: str, meaning: str, default: float | None = None) -> Option:
    """Return an option whose value is a number of seconds."""
    kind = _number(name, float, 0, "a number of seconds, 0 or more")
    return option(name, "SECONDS", meaning, type=kind, default=default)


def number(name: str, meaning: str, default: int | None = None) -> Option:
    """Return an option whose value is a number of things."""
    kind = _number(name, int, 1, "a number from 1 on")
    return option(name, "NUMBER", meaning, type=kind, default=default)


Number = TypeVar("Number", int, float)


def _number(option: str, kind: type[Number], least: int, wanted: str) -> Callable[[str], Number]:
    def read(text: str) -> Number:
        try:
            value = kind(text)
        except ValueError:
            value = kind(-1)
        if not value >= least:  # nor is NaN
            raise UsageError(f"{option} takes {wanted}, not {text!r}")
        return value

    return read


Function = TypeVar("Function")
Self = TypeVar("Self", bound="_Declared[Any]")

DECLARED: dict[str, Any] = {}
"""The commands of the modules that have been imported, by their names."""


class _Declared(Generic[Function]):
    """A command, which is used as the decorator of its function.

    ``usage`` shows its words. ``options``: its own, besides those for connecting, which it
    has if it ``takes_server``. ``details`` are for ``--help``.
    """

    function: Function

    def __init__(
        self,
        name: str,
        usage: str = "",
        options: Sequence[Option] = (),
        details: str = "",
        *,
        takes_server: bool = False,
        takes_command: bool = False,
        needs_server: bool = True,
    ) -> None:
        self.name: str = name
        self.usage: str = usage
        self.options: Sequence[Option] = options
        self.details: str = details
        self.takes_server: bool = takes_server
        self.takes_command: bool = takes_command
        self.needs_server: bool = needs_server

    def __call__(self: Self, function: Function) -> Self:
        """Declare the command."""
        self.function = function
        DECLARED[self.name] = self
        return self


_LISTED_BY = {
    "TOOL": "List the tools with: mcpclient tools SERVER",
    "URI": "List the resources with: mcpclient resources SERVER",
    "PROMPT": "List the prompts with: mcpclient prompts SERVER",
    "ID": "List the tasks with: mcpclient tasks SERVER",
}

Run = Callable[[Client, Screen, argparse.Namespace], Awaitable[Answer]]
"""Runs a command on a connected client. The options have the ``words`` after the server."""


class Command(_Declared[Run]):
    """A command that talks to a server; its function is a `Run`.

    ``required`` names the words it needs, ``more`` those that may follow, if any; ``read`` turns
    the latter into ``options.arguments`` before anything is started.
    """

    def __init__(
        self,
        name: str,
        *,
        options: Sequence[Option] = (),
        details: str = "",
        required: tuple[str, ...] = (),
        more: str | None = None,
        read: Callable[[Sequence[str]], Any] = list[str],
    ) -> None:
        usage = " ".join([*required, *([f"[{more} ...]"] if more else [])])
        super().__init__(name, usage, options, details, takes_server=True)
        self.required: tuple[str, ...] = required
        self.more: str | None = more
        self.read: Callable[[Sequence[str]], Any] = read

    def check(self, options: argparse.Namespace) -> None:
        """Check the words in ``options``, and read them. Raises `UsageError`."""
        words, count = options.words, len(self.required)
        if len(words) < count:
            missing = self.required[len(words) :]
            error = UsageError(f"{self.name} needs {' and '.join(missing)}")
            raise error.advise(_LISTED_BY.get(missing[0], ""))
        if self.more is None and len(words) > count:
            raise UsageError(f"{self.name} does not take {words[count]!r}")
        options.arguments = self.read(words[count:])


RunLocal = Callable[[Screen, argparse.Namespace], Union[Answer, Awaitable[Answer]]]
"""Runs a command that needs no client, or makes its own."""


class LocalCommand(_Declared[RunLocal]):
    """A command that needs no connection, or that connects by itself; its function is a `RunLocal`.

    The function is called before there is an event loop: it is a plain function where it waits for
    nothing, or where the user may be asked for the server's approval, which Ctrl-C must end.
    ``takes_server``: it has the options for connecting, and ``server_command`` among them may be a
    command line after ``--``; see `parsing.find_server`. ``takes_command``: only the latter.
    """


class Request(NamedTuple):
    """A command with its checked options, not started yet.

    Its function is a `Run` where there is a ``server``, otherwise a `RunLocal`.
    """

    function: Callable[..., Any]
    options: argparse.Namespace
    server: Server | None = None


PrepareOuter = Callable[[argparse.Namespace, Union[Request, None]], Request]
"""Takes the options, among them ``file``, and the inner request, None without a command."""


class OuterCommand(_Declared[PrepareOuter]):
    """A command that runs another one, with a file: ``NAME FILE [--] COMMAND …``.

    Its function is a `PrepareOuter`. With ``needs_server`` False, the inner command need not name a
    server.
    """


AnyCommand = Union[Command, LocalCommand, OuterCommand]
