"""Records of a transcript from the observations of a tap: without secrets, ports and paths.

Ports of this run become `PORT` and the like, folders get the names in `Places`, secrets become
names. A value that is not secret and made up for one session, such as an id in a message, stays.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.capture.taps import Seen, with_port
from conformance.replay.equivalences import Treatment, header_treatment
from mcpclient.recording.redaction import Redactor
from mcpclient.recording.transcript import (
    Record,
    bytes_of_event,
    bytes_of_payload,
    event_facts,
    payload_facts,
)

# What stands for the port of the tap, of a page to fetch, and of an authorization server.
PORT, PAGE_PORT, AUTH_PORT = 50000, 50001, 50002

_TRACEBACK = re.compile(rb"\s|Traceback |The above exception |During handling of ")

_PREFIX = "io.modelcontextprotocol"

# Stands for "accept" while secrets are replaced: what a user entered is none in a script.
_ACCEPTED = "accept as in the script"

# What a note says that may hold a secret.
NOTES = frozenset({"connected", "outcome", "notification"})


@dataclass(frozen=True)
class Places:
    """Facts of this machine that no transcript may hold, each with its replacement."""

    ports: Mapping[int, int] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)

    def hide(self, data: bytes) -> bytes:
        """Replace the ports and folders of this run."""
        for port, shown_port in self.ports.items():
            data = with_port(data, port, shown_port)
        for folder, shown_folder in self.folders.items():
            data = data.replace(folder.encode(), shown_folder.encode())
        return data


def line_facts(line: bytes) -> Record:
    """Return the members for one line of a line transport, its line end included if it has one."""
    for end in (b"\r\n", b"\n"):
        if line.endswith(end):
            facts = payload_facts(line[: -len(end)])
            return facts if end == b"\n" else {**facts, "line_end": "\r\n"}
    return {**payload_facts(line), "line_end": ""}


_PUBLIC_AUTH = {"grant", "device", "scope", "options"}


class Cleaner:
    """Turns one session, as it was seen, into records."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._redactor = Redactor()

    def records(self, seen: Iterable[Seen]) -> list[Record]:
        """Return the records in the order of time."""
        in_order = sorted(_without_tracebacks(seen), key=lambda one: one.nanoseconds)
        facts = [self._redacted(self._facts(one)) for one in in_order]
        records = []
        for one, members in zip(in_order, facts):
            time = (one.nanoseconds - in_order[0].nanoseconds) / 1e9
            record = {"time": round(time, 4), "direction": one.direction, "channel": one.channel}
            # A second time, because a secret may be known only from what came after.
            records.append(without_idle_headers({**record, **self._redacted(members)}))
        for record in records:
            _make_length_true(record, records)
        return records

    def header(self, header: Mapping[str, Any]) -> dict[str, Any]:
        """Return the header; it is to be made after the records."""
        as_recorded = self._redactor.message(_with_action(header, "accept", _ACCEPTED))
        cleaned = dict(_with_action(as_recorded, _ACCEPTED, "accept"))
        headers = header["script"]["client"].get("headers")
        if headers is not None:  # a script holds no secrets
            cleaned["script"]["client"] = {**cleaned["script"]["client"], "headers": headers}
        auth = header["script"]["auth"] or {}
        # By its name it is a secret, and so is all that it holds.
        known = {name: auth[name] for name in _PUBLIC_AUTH & auth.keys()}
        if known:
            cleaned["script"]["auth"] = {**cleaned["script"]["auth"], **known}
        return cleaned

    def _facts(self, seen: Seen) -> Record:
        facts = self._hidden(seen.facts)
        if seen.line is not None:
            facts.update(line_facts(self._places.hide(seen.line)))
        if seen.body is not None:
            facts.update(payload_facts(self._places.hide(seen.body)))
        if seen.event is not None:
            facts.update(event_facts(self._places.hide(seen.event)))
        return dict(facts)

    def _hidden(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: self._hidden(member) for name, member in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._hidden(item) for item in value]
        return self._places.hide(value.encode()).decode() if isinstance(value, str) else value

    def _redacted(self, facts: Record) -> Record:
        facts = _with_action(facts, "accept", _ACCEPTED)
        on_the_wire = self._redactor.record(facts)
        notes = {name: self._redactor.message(facts[name]) for name in facts if name in NOTES}
        if "visited" in facts:
            visited = facts["visited"].items()
            notes["visited"] = {name: self._redactor.url(address) for name, address in visited}
        return dict(_with_action({**on_the_wire, **notes}, _ACCEPTED, "accept"))


def spoken_in(records: Iterable[Record]) -> str | None:
    """Return the protocol version that client and server came to, or None."""
    offered = None
    for record in records:
        if "connected" in record:
            version = record["connected"].get("protocol_version")
            return None if version is None else str(version)
        for message in _messages(record):
            offered = _meta_of(message).get(f"{_PREFIX}/protocolVersion", offered)
            answered = _member(message, "result").get("protocolVersion")
            if answered is not None:
                return str(answered)
    return offered


def client_in(records: Iterable[Record]) -> dict[str, Any] | None:
    """Return the client's description of itself, or None."""
    for record in records:
        for message in _messages(record):
            meta, params = _meta_of(message), _member(message, "params")
            found = params.get("clientInfo") or meta.get(f"{_PREFIX}/clientInfo")
            if found:
                return dict(found)
    return None


def _messages(record: Record) -> list[dict[str, Any]]:
    message = record.get("message", record.get("event", {}).get("data"))
    if "text" in record:
        with contextlib.suppress(ValueError):
            message = json.loads(record["text"])
    return [message] if isinstance(message, dict) else []


def _member(message: Mapping[str, Any], name: str) -> dict[str, Any]:
    member = message.get(name)
    return member if isinstance(member, dict) else {}


def _meta_of(message: Mapping[str, Any]) -> dict[str, Any]:
    return _member(_member(message, "params"), "_meta")


def _with_action(value: Any, old: str, new: str) -> Any:
    """Change the action of every answer to an elicitation, also where JSON is quoted."""
    if isinstance(value, Mapping):
        return {
            name: new if (name, member) == ("action", old) else _with_action(member, old, new)
            for name, member in value.items()
        }
    if isinstance(value, list):
        return [_with_action(item, old, new) for item in value]
    return value.replace(f'"{old}"', f'"{new}"') if isinstance(value, str) else value


def _without_tracebacks(seen: Iterable[Seen]) -> Iterator[Seen]:
    """Leave out of stderr what names files of the machine."""
    for one in seen:
        if one.channel != "stderr" or not _TRACEBACK.match(one.line or b""):
            yield one


def without_idle_headers(record: Record) -> Record:
    """Leave out headers that prove nothing: a client's that are never compared, and dates.

    They were a twentieth of all transcripts. Those that open a WebSocket stay.
    """
    if "http" not in record:
        return record
    kept = [pair for pair in record["http"]["headers"] if not _is_idle(record, pair[0].lower())]
    return {**record, "http": {**record["http"], "headers": kept}}


def _is_idle(record: Record, name: str) -> bool:
    if record["direction"] != "sent":
        return name == "date"
    is_free = header_treatment(name) is Treatment.FREE
    return is_free and record["channel"] != "websocket"


def _make_length_true(record: Record, records: Iterable[Record]) -> None:
    """Set the length in a head to the length of the body, or the events, as they are written."""
    for pair in record.get("http", {}).get("headers", []):
        if pair[0].lower() == "content-length" and pair[1].isdecimal():
            of_stream = (record["channel"], record["direction"])
            events = [one for one in records if (one["channel"], one["direction"]) == of_stream]
            length = sum(len(bytes_of_event(one)) for one in events if "event" in one)
            pair[1] = str(length + len(bytes_of_payload(record)))
