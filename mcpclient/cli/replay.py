"""``mcpclient replay``: run a command on a recorded session, or show what was recorded."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..recording.conversation import Call, Failed, Refused
from ..transports.replaying import Recording
from .command import Answer, LocalRequest, OuterCommand, Request
from .render import one_line, table
from .screen import Screen
from .server import Server


def _prepare(options: argparse.Namespace, inner: Request | None) -> Request | LocalRequest:
    recording = Recording(options.file)
    if inner is None:

        async def show(screen: Screen) -> Answer:
            return _overview(recording.conversation.calls, screen)

        return LocalRequest(show, options)
    # What says how to reach the server may stay from the command that was recorded.
    reaching = ("header", "env", "cwd", "transport", "bearer", "account")
    for name in (*reaching, "ca_file", "proxy", "insecure"):
        setattr(inner.options, name, None)
    return Request(Server(recording), inner.work, inner.options)


def _overview(calls: Iterable[Call], screen: Screen) -> Answer:
    found = [_described(call) for call in calls]
    header = ("REQUEST", "ARGUMENTS", "TIME", "OUTCOME")
    rows = [tuple(map(one_line, _row(each))) for each in found]
    text = table(header, rows, screen.style) if rows else "nothing was asked in this session"
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
    if call.request["method"] == "initialize":  # of which only this tells sessions apart
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
        return _answer(call.answer)
    last = call.steps[-1] if call.steps and call.ended_at is not None else None
    if isinstance(last, Refused):
        return f"HTTP {last.status}"
    if isinstance(last, Failed):
        return str(last.error.get("text", "failed"))
    return "no answer"


def _answer(message: Mapping[str, Any]) -> str:
    error, result = message.get("error"), message.get("result")
    if isinstance(error, dict):
        return f"error {error.get('code')}: {error.get('message')}"
    failed = isinstance(result, dict) and result.get("isError") is True
    return "the tool failed" if failed else "ok"


COMMAND = OuterCommand(
    "replay",
    _prepare,
    usage="[OPTION ...] FILE [[--] COMMAND [WORD ...]]",
    needs_server=False,
    details=(
        "FILE is what mcpclient record or --trace has written. No server is started and no network "
        "is used; what names the server may be left out. A call that was not recorded ends with "
        "exit code 2. Without a command, the recorded calls are listed.\n\n"
        "example:\n"
        "  mcpclient replay s.jsonl call echo message=hi"
    ),
)
