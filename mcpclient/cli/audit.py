"""``mcpclient audit``: verify the chain of an audit log, or show its lines."""

from __future__ import annotations

import argparse

from ..errors import UsageError
from ..net.chained_log import read_log, verify_log
from .command import Answer, LocalCommand, option
from .render import one_line, reading, table
from .screen import Screen

_SHOWN = ("time", "user", "server", "kind", "method", "name", "decision", "outcome", "reason")


@LocalCommand(
    "audit",
    usage="verify [--head HASH] FILE | show FILE",
    options=(option("--head", "HASH", "the hash of a line that must still be there", default=""),),
    details=(
        "Files that the log was rotated to (FILE.1, FILE.2) are verified with it. The first line "
        "that was changed, removed, inserted or moved is named, and the exit code is 1. Lines that "
        "were cut off at the end are missed unless --head has the hash of one of them."
    ),
)
async def _audit(screen: Screen, options: argparse.Namespace) -> Answer:
    if len(options.words) != 2 or options.words[0] not in ("verify", "show"):
        raise UsageError("audit needs verify or show, and the file of the log")
    action, path = options.words
    if options.head and action == "show":
        raise UsageError("--head is for audit verify")
    with reading(path):
        return _verified(path, options.head) if action == "verify" else _shown(path, screen)


def _verified(path: str, head: str) -> Answer:
    found = verify_log(path, head)
    lines = [f"{found.lines} lines follow each other, the last is line {found.head.number}"]
    lines += [f"note: {note}" for note in found.notes]
    lines.append(f"fault: {found.fault}" if found.fault else f"head: {found.head.hash}")
    raw = {**found._asdict(), "head": dict(zip(("number", "previous", "hash"), found.head))}
    return Answer(raw, "\n".join(map(one_line, lines)), exit_code=1 if found.fault else 0)


def _shown(path: str, screen: Screen) -> Answer:
    records = [line.record for line in read_log(path, rotated=False)]
    rows = [tuple(str(each.get(name, "")) for name in _SHOWN) for each in records if each]
    text = table([name.upper() for name in _SHOWN], rows, screen.style, "the log is empty")
    return Answer({"lines": records}, text)
