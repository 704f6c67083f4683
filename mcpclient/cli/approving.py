"""``mcpclient approve``: the user's agreement to servers of files, given, listed and taken back."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Iterator, Sequence
from typing import NamedTuple

from ..config.config import ServerConfig
from ..config.scopes import discover_configs
from ..entries.applications import APPLICATIONS
from ..errors import UsageError
from ..gate.gate import Approvals
from ..gate.load import load_config
from ..net.login.terminal import Terminal
from ..suggestions import there_are, there_is_no
from .command import Answer, LocalCommand, either, flag
from .commands import FAILED
from .configured import says_yes, show_sheet, shown_target
from .layout import listing, one_line
from .render import writing
from .screen import Screen

# The applications whose files are found here by their scopes.
_OURS = {"mcpclient", "claude-code"}


class Agreement(NamedTuple):
    """A server that needs the user's agreement. ``name``: as commands take it."""

    name: str
    server: ServerConfig
    is_given: bool


@LocalCommand(
    "approve",
    usage="[--revoke] NAME ... | [--revoke] --all [@APPLICATION ...] | --list",
    options=(
        either(
            flag("--list", "show the servers that need your agreement, and which have it"),
            flag("--revoke", "take your agreement back"),
        ),
        flag("--all", "all servers of the files that apply here, or of these applications"),
    ),
    details="Servers of a project's file, and of other applications (NAME@cursor), start only "
    "after you have agreed to them. approve shows all that each would start with, and asks once. "
    "--revoke --all takes back whatever you have agreed to, in any folder. Agreement is to an "
    "entry as it is: one that changes asks again.",
)
def _approve(screen: Screen, options: argparse.Namespace) -> Awaitable[Answer]:
    if not (options.words or options.all or options.list):
        waiting = [each.name for each in _agreements(["@"]) if not each.is_given]
        known = f"; waiting are: {', '.join(map(one_line, waiting))}" if waiting else ""
        raise UsageError(f"approve needs the names of servers, or --all{known}")
    if options.list:
        answer = _listed(screen)
    elif options.revoke:
        answer = _revoked(options)
    else:
        answer = _approved(_chosen(options))

    async def answered() -> Answer:
        return answer

    return answered()


def _chosen(options: argparse.Namespace) -> list[Agreement]:
    words: list[str] = options.words
    if options.all and not all(word.startswith("@") for word in words):
        raise UsageError(f"approve --all takes applications, such as @cursor, and not {words[0]!r}")
    return _agreements(words or ["@"])


def _agreements(words: Sequence[str]) -> list[Agreement]:
    """Return the servers that words name: ``NAME``, ``NAME@APPLICATION``, or all by ``@…``.

    ``@`` alone: those of the files that apply to this folder. Raises `UsageError` for a word that
    names none.
    """
    found: list[Agreement] = []
    for word in words:
        name, at, application = word.rpartition("@")
        if application and application not in APPLICATIONS:
            name, at, application = word, "", ""
        elif not at:
            name = word
        found += _named(name, application)
    return found


def _named(name: str, application: str) -> Iterator[Agreement]:
    """Yield the servers of this name, all for ""; ``application``: the one whose files have it."""
    suffix, is_found = f"@{application}" if application else "", not name
    names: set[str] = set()
    for path in _paths(application):
        waiting: list[ServerConfig] = []

        def note(server: ServerConfig, waiting: list[ServerConfig] = waiting) -> bool:
            waiting.append(server)
            return False

        config = load_config(path, approvals=Approvals(note), enabled=[name] if name else [])
        given = [
            server
            for server in config.servers.values()
            if server.state == "ready" and server.scope in ("project", "file")
        ]
        names |= {*config.servers}
        is_found = is_found or name in config.servers
        for is_given, servers in ((False, waiting), (True, given)):
            for server in servers:
                if name in ("", server.name):
                    yield Agreement(f"{server.name}{suffix}", server, is_given)
    if not is_found:
        message = there_is_no("server", name, names, "in the configuration")
        raise UsageError(message).advise(there_are(sorted(names)))


def _paths(application: str) -> Iterator[str | None]:
    if not application:
        yield None
        return
    for place in discover_configs(apps=[application]):
        yield place.path


def _approved(agreements: Sequence[Agreement]) -> Answer:
    waiting = [each for each in agreements if not each.is_given]
    names = [each.name for each in waiting]
    if not waiting:
        return Answer({"approved": []}, "none of these servers needs your agreement")
    terminal = Terminal()
    if not terminal.is_interactive:
        raise UsageError("approve asks on a terminal, and here is none").advise(
            "mcpclient servers --no-connect shows what would start."
        )
    for each in waiting:
        show_sheet(each.server, terminal)
    these = "it" if len(waiting) == 1 else f"these {len(waiting)} servers"
    if not says_yes(f"Agree to {these}, now and from now on?"):
        return Answer({"approved": []}, "nothing was agreed to", exit_code=FAILED)
    _store(waiting, agreed=True)
    return Answer({"approved": names}, f"agreed to {', '.join(map(one_line, names))}")


def _revoked(options: argparse.Namespace) -> Answer:
    if options.all and not options.words:
        with writing(str(Approvals().path)):
            count = Approvals().revoke_all()
        return Answer({"revoked": count}, f"took back {count} agreement{'' if count == 1 else 's'}")
    given = [each for each in _chosen(options) if each.is_given]
    names = [each.name for each in given]
    _store(given, agreed=False)
    text = f"took back your agreement to {', '.join(map(one_line, names))}"
    return Answer({"revoked": names}, text if names else "you have agreed to none of these servers")


def _store(agreements: Sequence[Agreement], *, agreed: bool) -> None:
    approvals = Approvals()
    with writing(str(approvals.path)):
        for each in agreements:
            (approvals.approve if agreed else approvals.revoke)(each.server)


def _listed(screen: Screen) -> Answer:
    applications = {place.application for place in discover_configs()} - _OURS
    rows = [
        (
            each.name,
            "agreed" if each.is_given else "waits",
            shown_target(each.server),
            each.server.source,
        )
        for each in _agreements(["@", *(f"@{name}" for name in sorted(applications))])
    ]
    raw = [
        {"name": name, "agreed": state == "agreed", "target": target, "file": file}
        for name, state, target, file in rows
    ]
    header = ("SERVER", "STATE", "TARGET", "FILE")
    text = listing(header, rows, screen.style, "no server needs your agreement", whole=True)
    return Answer({"servers": raw}, text)
