"""``mcpclient approve``: the user's agreement to servers of files, given, listed and taken back."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..config.config import ServerConfig
from ..config.scopes import discover_configs
from ..errors import UsageError
from ..gate.gate import Approvals
from ..gate.load import load_config
from ..net.login.terminal import Terminal
from ..suggestions import there_are, there_is_no
from .command import Answer, LocalCommand, either, flag
from .commands import FAILED
from .configured import OURS, agrees, paths_of, shown_target, split_application
from .layout import counted, listing, one_line
from .render import writing
from .screen import Screen


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
def _approve(screen: Screen, options: argparse.Namespace) -> Answer:
    words: list[str] = options.words
    if options.list:
        return _listed(screen)
    if not (words or options.all):
        waiting = [each.name for each in _agreements([""]) if not each.is_given]
        known = f"; waiting are: {', '.join(map(one_line, waiting))}" if waiting else ""
        raise UsageError(f"approve needs the names of servers, or --all{known}")
    if options.all and not all(word.startswith("@") for word in words):
        raise UsageError(f"approve --all takes applications, such as @cursor, and not {words[0]!r}")
    if options.revoke and not words:
        with writing(str(Approvals().path)):
            count = Approvals().revoke_all()
        return Answer({"revoked": count}, f"took back {counted(count, 'agreement')}")
    agreements = _agreements(words or [""])
    return _revoked(agreements) if options.revoke else _approved(agreements)


def _agreements(words: Iterable[str]) -> list[Agreement]:
    """Return the servers that words name: ``NAME``, ``NAME@APPLICATION``, or all by ``@…``.

    An empty word: all servers of the files that apply to this folder. Raises `UsageError` for a
    word that names none.
    """
    return [each for word in words for each in _named(*split_application(word))]


def _named(name: str, application: str) -> Iterator[Agreement]:
    """Yield the servers of this name, all for ""; ``application``: the one whose files have it."""
    suffix, names = f"@{application}" if application else "", set[str]()
    paths: list[str | None] = [*paths_of(application)] if application else [None]
    for path in paths:
        waiting: list[ServerConfig] = []

        def note(server: ServerConfig, waiting: list[ServerConfig] = waiting) -> bool:
            waiting.append(server)
            return False

        config = load_config(path, approvals=Approvals(note), enabled=[name] if name else [])
        names |= {*config.servers}
        ready = [server for server in config.servers.values() if server.state == "ready"]
        given = [server for server in ready if server.scope in ("project", "file")]
        for is_given, servers in ((False, waiting), (True, given)):
            for server in servers:
                if name in ("", server.name):
                    yield Agreement(f"{server.name}{suffix}", server, is_given)
    if name and name not in names:
        message = there_is_no("server", name, names, "in the configuration")
        raise UsageError(message).advise(there_are(sorted(names)))


def _approved(agreements: Sequence[Agreement]) -> Answer:
    waiting = [each for each in agreements if not each.is_given]
    names = [each.name for each in waiting]
    if not waiting:
        return Answer({"approved": []}, "none of these servers needs your agreement")
    if not Terminal().is_interactive:
        raise UsageError("approve asks on a terminal, and here is none").advise(
            "See what would start with: mcpclient servers --no-connect"
        )
    these = "it" if len(waiting) == 1 else f"these {len(waiting)} servers"
    if not agrees(f"Agree to {these}, now and from now on?", [each.server for each in waiting]):
        return Answer({"approved": []}, "nothing was agreed to", exit_code=FAILED)
    _store(waiting, agreed=True)
    return Answer({"approved": names}, f"agreed to {', '.join(map(one_line, names))}")


def _revoked(agreements: Sequence[Agreement]) -> Answer:
    given = [each for each in agreements if each.is_given]
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
    applications = {place.application for place in discover_configs()}.difference(OURS)
    words = ["", *(f"@{name}" for name in sorted(applications))]
    raw, rows = [], []
    for name, server, is_given in _agreements(words):
        target, file = shown_target(server), server.source
        raw.append({"name": name, "agreed": is_given, "target": target, "file": file})
        rows.append((name, "agreed" if is_given else "waits", target, file))
    header = ("SERVER", "STATE", "TARGET", "FILE")
    text = listing(header, rows, screen.style, "no server needs your agreement", whole=True)
    return Answer({"servers": raw}, text)
