"""What a command of the command line is. Each command has a file of its own."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Callable

from ..client.client import Client
from ..client.link.targets import Target
from ..errors import UsageError
from .screen import Screen

__all__ = [
    "Answer",
    "Command",
    "LocalCommand",
    "LocalRequest",
    "LocalWork",
    "OuterCommand",
    "Request",
    "TargetCommand",
    "Work",
]


@dataclass(frozen=True)
class Answer:
    """What a command found out.

    ``raw``: the wire objects, for ``--json``. ``text``: the same for people, safe for a terminal.
    ``content``: bytes to write unchanged where the output is not a terminal. ``failed``: a tool
    reported that it failed.
    """

    raw: Mapping[str, Any]
    text: str
    content: bytes | None = None
    failed: bool = False


Work = Callable[[Client, Screen], Awaitable[Answer]]
"""What a command does once it is connected."""


@dataclass(frozen=True)
class Command:
    """A command that talks to a server.

    ``required`` names the words it needs, ``more`` those that may follow, if any. ``summary`` and
    ``details`` are for ``--help``. ``prepare`` checks the words before anything is started, and
    returns what to do; it raises `UsageError`.
    """

    name: str
    summary: str
    prepare: Callable[[Sequence[str]], Work]
    required: tuple[str, ...] = ()
    more: str | None = None
    details: str = ""

    def work(self, words: Sequence[str]) -> Work:
        """Return what to do for these words. Raises `UsageError`."""
        missing = self.required[len(words) :]
        if missing:
            raise UsageError(f"{self.name} needs {' and '.join(missing)}")
        if self.more is None and len(words) > len(self.required):
            raise UsageError(f"{self.name} does not take {words[len(self.required)]!r}")
        return self.prepare(words)


LocalWork = Callable[[Screen], Awaitable[Answer]]
"""What a command does that needs no connection to a server."""


@dataclass(frozen=True)
class LocalCommand:
    """A command that needs no connection to a server.

    ``usage`` shows its words, ``add_options`` adds its options. ``prepare`` checks both before
    anything is started, and returns what to do; it raises `UsageError`.
    """

    name: str
    summary: str
    prepare: Callable[[argparse.Namespace], LocalWork]
    usage: str
    add_options: Callable[[argparse.ArgumentParser], None]
    details: str = ""


@dataclass(frozen=True)
class TargetCommand:
    """A command that is told a server, if any, and connects by itself if it has to.

    ``add_options`` adds its options to those for connecting. ``prepare`` checks them before
    anything is started, and returns what to do; it raises `UsageError`.
    """

    name: str
    summary: str
    prepare: Callable[[argparse.Namespace, Target | None], LocalWork]
    add_options: Callable[[argparse.ArgumentParser], None]
    details: str = ""


@dataclass(frozen=True)
class Request:
    """What to do with which server: checked, and not started yet."""

    target: Target
    work: Work
    options: argparse.Namespace


@dataclass(frozen=True)
class LocalRequest:
    """What to do for a command that needs no connection: checked, and not started yet."""

    work: LocalWork
    options: argparse.Namespace


def _no_options(parser: argparse.ArgumentParser) -> None:
    pass


@dataclass(frozen=True)
class OuterCommand:
    """A command that runs another one, with a file: ``NAME FILE [--] COMMAND …``.

    ``prepare`` takes its own options, among them ``file``, and what the inner command would do
    (None when there is no inner command). With ``needs_server`` False, the inner command need not
    name a server.
    """

    name: str
    summary: str
    prepare: Callable[[argparse.Namespace, Request | None], Request | LocalRequest]
    usage: str
    add_options: Callable[[argparse.ArgumentParser], None] = _no_options
    needs_server: bool = True
    details: str = ""
