"""The messages in the records of a transcript, and the faults of the server's messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..protocol.faults import Fault, fault
from ..protocol.faults.judge import Asked, Judge, envelope_fault
from .transcript import Record, message_of

_MAX_CHANNELS = 500


class Judged(NamedTuple):
    """The content of a record: ``messages``, as they are in JSON, and their ``faults``.

    ``asked``: of each message the request that it answers, or None.
    """

    messages: list[Any]
    asked: list[Asked | None]
    faults: list[Fault]


_NOTHING = Judged([], [], [])


class JudgedTranscript:
    """The judgement of a transcript that is read, or written, record by record.

    ``found``: the faults of all records that `append` was given, each with its subject, such as
    ``tools/call echo``. ``is_mcp``: by channel of HTTP, whether its request was one of MCP, and
    not a login's.
    """

    def __init__(self) -> None:
        self.found: list[tuple[str, Fault]] = []
        self.judge: Judge = Judge()
        self.is_mcp: dict[str, bool] = {}

    def append(self, line: str) -> None:
        """Judge one line of a transcript: a target of `Client.trace_to`."""
        judged = self.take(json.loads(line))
        if judged.faults:
            asked = next(filter(None, judged.asked), None)
            about = [_method(each) for each in judged.messages]
            if asked is not None:
                about = [
                    asked.method,
                    str(asked.params.get("name") or asked.params.get("uri") or ""),
                ]
            self.found += [(" ".join(about).strip(), each) for each in judged.faults]

    def take(self, record: Record, tag: Any = None) -> Judged:
        """Return the content of the next record or header. ``tag``: for `Asked`."""
        if "transcript" in record:
            self.judge = Judge()
            self.is_mcp.clear()
            return _NOTHING
        channel, sent = record["channel"], record["direction"] == "sent"
        self.judge.is_whole &= channel != "recalled"
        message = message_of(record)
        method = record["http"].get("method") if "http" in record else None
        if method is not None:
            if len(self.is_mcp) >= _MAX_CHANNELS:
                del self.is_mcp[next(iter(self.is_mcp))]
            self.is_mcp[channel] = method != "POST" or envelope_fault(message) == ""
        messages = message if isinstance(message, list) else [message]
        if message is None:
            noise = _noise(record)
            revision = self.judge.revision
            return Judged([], [], [fault("not-json-rpc", noise, revision)]) if noise else _NOTHING
        if not self.is_mcp.get(channel, True):
            return Judged(messages, [None] * len(messages), [])
        if sent:
            return Judged(messages, [self.judge.sent(each, tag) for each in messages], [])
        if not isinstance(message, list):
            one, faults = self.judge.received(message, tag)
            return Judged(messages, [one], faults)
        found = [self.judge.received(each, tag) for each in messages]
        asked, faults = [each[0] for each in found], [one for each in found for one in each[1]]
        return Judged(messages, asked, faults)


def _method(message: Any) -> str:
    return str(message.get("method") or "") if isinstance(message, dict) else ""


def _noise(record: Mapping[str, Any]) -> str:
    """Return the fault of a line on stdout that is not a message."""
    if record["direction"] != "received" or record["channel"] == "stderr":
        return ""
    if record["channel"].startswith("http-") or {"http", "event", "frame", "end"} & record.keys():
        return ""
    kind = "broken JSON" if str(record.get("text")).lstrip()[:1] in ("{", "[") else "not JSON-RPC"
    return f"a line on stdout is {kind}"
