"""``mcpclient record`` keeps the session of another command; ``replay`` plays it.

``mcpclient audit`` verifies the chain of an audit log, or shows its lines.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ..errors import UsageError
from ..net.chained_log import read_log, verify_log
from ..net.regular_files import open_regular
from ..recording.conversation import Call, Failed, Refused
from ..transports.replaying import Recording
from .command import Answer, LocalCommand, OuterCommand, Request, Server, flag, option
from .commands import FAILED
from .layout import one_line, table
from .parsing import NEEDED
from .render import reading, writing
from .screen import Screen


@OuterCommand(
    "record",
    usage="[OPTION ...] FILE [--] COMMAND [WORD ...] [URL | -- SERVER-COMMAND ...]",
    options=(flag("--force", "overwrite the file if it exists"),),
    details="The file is a transcript: one JSON object per line for everything sent and received, "
    "also while logging in, with secrets replaced. mcpclient replay FILE COMMAND runs the command "
    "again without the server. The output and the exit code come from COMMAND.\n\n"
    "examples:\n"
    "  mcpclient record s.jsonl call http://localhost:3001/mcp echo message=hi\n"
    "  mcpclient record s.jsonl call echo message=hi -- npx -y my-server",
)
def _prepare_record(options: argparse.Namespace, inner: Request | None) -> Request:
    if inner is None:
        raise UsageError("record needs a command after the file, such as: tools URL")
    if inner.options.trace is not None:
        raise UsageError("record writes the transcript that --trace would write; choose one")
    flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if options.force else os.O_EXCL)
    with writing(options.file):
        try:
            os.close(open_regular(options.file, flags))
        except FileExistsError:
            raise UsageError(f"{options.file!r} exists; --force overwrites it") from None
    inner.options.trace = options.file
    return inner


@OuterCommand(
    "replay",
    usage="[OPTION ...] FILE [[--] COMMAND [WORD ...]]",
    needs_server=False,
    details="FILE is what mcpclient record or --trace has written. No server is started and no "
    "network is used; what names the server may be left out. A call that was not recorded ends "
    "with exit code 2. Without a command, the recorded calls are listed.\n\n"
    "example:\n"
    "  mcpclient replay s.jsonl call echo message=hi",
)
def _prepare_replay(options: argparse.Namespace, inner: Request | None) -> Request:
    recording = Recording(options.file)
    if inner is None:
        return Request(partial(_list_calls, recording), options)
    # The server may still be named as in the command that was recorded.
    for name in (*NEEDED, "transport"):
        setattr(inner.options, name, [] if name in ("header", "env") else None)
    return inner._replace(server=Server(recording))


async def _list_calls(recording: Recording, screen: Screen, options: argparse.Namespace) -> Answer:
    found = [_described(call) for call in recording.conversation.calls]
    header = ("REQUEST", "ARGUMENTS", "TIME", "OUTCOME")
    text = table(header, map(_row, found), screen.style, "this session has no calls")
    return Answer({"calls": found}, text)


def _row(call: Mapping[str, Any]) -> Sequence[str]:
    arguments = call["arguments"]
    return (
        f"{call['method']} {call['name'] or ''}",
        json.dumps(arguments, ensure_ascii=False) if arguments else "",
        "" if call["seconds"] is None else f"{call['seconds']:.3f} s",
        call["outcome"],
    )


def _described(call: Call) -> dict[str, Any]:
    params = call.request.get("params")
    others = dict(params) if isinstance(params, dict) else {}
    others.pop("_meta", None)
    if call.request["method"] == "initialize":  # only the version tells sessions apart
        others = {"name": others.get("protocolVersion")}
    name = next((others.pop(key) for key in ("name", "uri") if key in others), None)
    arguments = others.pop("arguments", {}) if set(others) <= {"arguments"} else others
    return {
        "method": str(call.request["method"]),
        "name": name if isinstance(name, str) else None,
        "arguments": arguments,
        "seconds": call.seconds,
        "outcome": _outcome(call),
    }


def _outcome(call: Call) -> str:
    if call.answer is not None:
        error, result = call.answer.get("error"), call.answer.get("result")
        if isinstance(error, dict):
            return f"error {error.get('code')}: {error.get('message')}"
        failed = isinstance(result, dict) and result.get("isError") is True
        return "the tool failed" if failed else "ok"
    last = call.steps[-1] if call.steps and call.ended_at is not None else None
    if isinstance(last, Refused):
        return f"HTTP {last.status}"
    if isinstance(last, Failed):
        return str(last.error.get("text", "failed"))
    return "no answer"


_MILLISECONDS = re.compile(r"T([\d:]+)\.\d+Z")
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
def _audit(screen: Screen, options: argparse.Namespace) -> Answer:
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
    return Answer(raw, "\n".join(map(one_line, lines)), exit_code=FAILED if found.fault else 0)


def _shown(path: str, screen: Screen) -> Answer:
    lines = list(read_log(path, rotated=False))
    records = [line.record for line in lines if line.is_sound]
    false = [line.place for line in lines if not line.is_sound]
    for place in false:
        screen.say(f"{place}: not shown: this line is incomplete, or was changed or inserted")
    rows = [[str(each.get(name, "")) for name in _SHOWN] for each in records]
    for row in rows:
        row[0] = _MILLISECONDS.sub(r" \1Z", row[0])
    text = table([name.upper() for name in _SHOWN], rows, screen.style, "the log is empty")
    return Answer({"lines": records, "not_shown": false}, text)
