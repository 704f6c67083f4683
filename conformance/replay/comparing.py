"""Whether the client acted as recorded, but for the written equivalences.

Both are records of a transcript, so this knows nothing of sockets. What differs is said in a line
of text that names the thing and both values.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from mcpclient import version
from mcpclient.recording.transcript import Record, bytes_of_payload

from .equivalences import Treatment, header_treatment, place_treatment
from .names import Names, is_same_scalar

__all__ = ["Comparison", "described", "header", "ids_in", "key_of"]

ABSENT = object()
"""Stands for a value that is not there."""


# What a record is about


def body_of(record: Record) -> Any:
    """Return the JSON of a record, or its text where that is none; `ABSENT` without a body."""
    if "message" in record:
        return record["message"]
    data = bytes_of_payload(record)
    try:
        return json.loads(data)
    except ValueError:
        return data.decode("utf-8", "replace") if data else ABSENT


def key_of(record: Record) -> tuple[Any, ...]:
    """Return what two records must have in common to be about the same thing."""
    http = record.get("http")
    head = (http["method"], urlsplit(http["target"]).path) if http else ()
    frame = (record["frame"],) if "frame" in record else ()
    end = ("end", record["channel"]) if "end" in record and not head else ()
    return (*head, *frame, *end, *_message_key(body_of(record)))


def _message_key(body: Any) -> tuple[Any, ...]:
    if isinstance(body, list):
        return ("batch", *(part for item in body for part in _message_key(item)))
    if not isinstance(body, dict) or "jsonrpc" not in body:
        return ()
    if "method" in body:
        return (body["method"], "id" in body)
    return ("answer", type(body.get("id")), body.get("id"))


def header(headers: Iterable[Iterable[str]], wanted: str) -> str:
    """Return the value of a header; empty where there is none."""
    return next((value for name, value in headers if name.lower() == wanted), "")


def ids_in(record: Record) -> Iterator[Any]:
    """Yield the ids of the requests in a record."""
    body = record.get("message")
    for item in body if isinstance(body, list) else [body]:
        if isinstance(item, dict) and "method" in item and "id" in item:
            yield item["id"]


def described(record: Record) -> str:
    """Return a few words that name a record."""
    words = []
    http = record.get("http", {})
    if "method" in http:
        words += [http["method"], urlsplit(http["target"]).path]
    elif http:
        words.append(f"status {http['status']}")
    if "frame" in record:
        words += [record["frame"], "frame"]
    event = record.get("event", {})
    body = event.get("data", "") if event else body_of(record)
    for item in body if isinstance(body, list) else [body]:
        if isinstance(item, dict) and "method" in item:
            words.append(str(item["method"]))
        elif isinstance(item, dict) and "id" in item:
            words.append(f"answer to {item['id']!r}")
    if "end" in record and not http:
        words.append(f"the end of {record['channel']}")
    return " ".join(words) or f"bytes on {record['channel']}"


def _shown(value: Any) -> str:
    if value is ABSENT:
        return "nothing"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}…"


class Comparison:
    """One comparison: what it ``found``, and the ``names`` as they are if it is believed.

    ``is_own``: whether this library was the client when it was recorded, whose words are compared.
    """

    def __init__(self, names: Names, *, is_own: bool = False) -> None:
        self.names = names.copy()
        self.found: list[str] = []
        self._is_own = is_own

    def differs(self, what: str, recorded: Any, ours: Any) -> None:
        """Record a difference."""
        self.found.append(f"{what} is {_shown(ours)}, recorded was {_shown(recorded)}")

    def record(self, recorded: Record, ours: Record) -> Comparison:
        """Compare all that a client did at once."""
        if "http" in recorded:
            self._head(recorded["http"], ours["http"])
        if recorded.get("frame") == "close":
            self.value("code", recorded.get("code"), ours.get("code"))
            reasons = [one.get("reason", "") for one in (recorded, ours)]
            if not self._is_own:  # the words are for people; that there are any is not
                reasons = [reason != "" for reason in reasons]
            self.value("reason", *reasons)
        self._body(body_of(recorded), body_of(ours))
        return self

    def outcome(self, recorded: Any, ours: Any) -> Comparison:
        """Compare the user's results."""
        self._json(("outcome",), (), recorded, ours)
        return self

    def notifications(self, recorded: list[Any], ours: list[Any]) -> Comparison:
        """Compare the notifications of the user."""
        if len(recorded) != len(ours):
            self.differs("how many", len(recorded), len(ours))
        for index, (one, other) in enumerate(zip(recorded, ours)):
            before = len(self.found)
            self._json(("told",), (), one, other)
            self.found[before:] = [f"{index}: {text}" for text in self.found[before:]]
        return self

    def url(self, recorded: str, ours: str) -> Comparison:
        """Compare where the user is sent."""
        theirs, own = urlsplit(recorded), urlsplit(ours)
        self.value("url", theirs._replace(query="").geturl(), own._replace(query="").geturl())
        self._fields("query", parse_qsl(theirs.query, True), parse_qsl(own.query, True))
        return self

    def value(self, what: str, recorded: Any, ours: Any) -> None:
        """Compare one value that stands for itself."""
        if isinstance(recorded, str) and isinstance(ours, str):
            same = self.names.is_text(recorded, ours)
        else:
            same = is_same_scalar(recorded, ours)
        if not same:
            self.differs(what, recorded, ours)

    # Heads

    def _head(self, recorded: Mapping[str, Any], ours: Mapping[str, Any]) -> None:
        theirs, own = urlsplit(recorded["target"]), urlsplit(ours["target"])
        self._fields("query", parse_qsl(theirs.query, True), parse_qsl(own.query, True))
        one, other = _by_name(recorded["headers"]), _by_name(ours["headers"])
        for name in sorted(one.keys() | other.keys()):
            self._header(name, one.get(name, ABSENT), other.get(name, ABSENT))

    def _header(self, name: str, recorded: Any, ours: Any) -> None:
        treatment = header_treatment(name)
        if treatment is Treatment.FREE:
            return
        if treatment is Treatment.SET:
            recorded, ours = ("*/*" if value is ABSENT else value for value in (recorded, ours))
        if recorded is not ABSENT and ours is not ABSENT:
            if treatment is Treatment.SET:
                recorded, ours = _listed(recorded), _listed(ours)
            elif treatment is Treatment.MEDIA_TYPE:
                recorded, ours = _without_parameters(recorded), _without_parameters(ours)
        self.value(f"header {name}", recorded, ours)

    def _fields(
        self,
        where: str,
        recorded: Iterable[tuple[str, str]],
        ours: Iterable[tuple[str, str]],
    ) -> None:
        one, other = dict(recorded), dict(ours)
        for name in sorted(one.keys() | other.keys()):
            self.value(f"{where} {name}", one.get(name, ABSENT), other.get(name, ABSENT))
        if "code_challenge" in other:
            self.names.challenge = other["code_challenge"]
        elif "code_verifier" in other and _challenge_of(other["code_verifier"]) != (
            self.names.challenge
        ):
            self.found.append(f"{where} code_verifier is not that of the code_challenge")

    # Bodies

    def _body(self, recorded: Any, ours: Any) -> None:
        if isinstance(recorded, str) and isinstance(ours, str) and "=" in recorded:
            self._fields("form field", parse_qsl(recorded, True), parse_qsl(ours, True))
        elif isinstance(recorded, list) and isinstance(ours, list) and len(recorded) == len(ours):
            for one, other in zip(recorded, ours):
                self._body(one, other)
        else:
            self._json(_kinds(recorded), (), recorded, ours)

    def _json(
        self, kinds: tuple[str, ...], path: tuple[str, ...], recorded: Any, ours: Any
    ) -> None:
        treatment = place_treatment(kinds, path)
        if treatment is Treatment.FREE or (treatment is Treatment.WORDS and not self._is_own):
            return
        if treatment is Treatment.WORDS:
            recorded, ours = _without_names(recorded), _without_names(ours)
        if treatment is Treatment.EMPTY_IS_ABSENT:
            recorded, ours = ({} if value is ABSENT else value for value in (recorded, ours))
        if treatment is Treatment.CLIENT:
            recorded = _of_this_version(recorded)
        if treatment is Treatment.FILE:
            recorded, ours = _without_drive(recorded), _without_drive(ours)
        if treatment is Treatment.REQUEST_ID and kinds[0] == "request" and ours is not ABSENT:
            self.names.bind_id(recorded, ours)
        elif treatment is Treatment.REQUEST_ID:
            if not self.names.is_id(recorded, ours):
                self.differs(".".join(path), recorded, ours)
        elif treatment is Treatment.TOKEN and recorded is not ABSENT and ours is not ABSENT:
            if not self.names.bind_token(recorded, ours):
                self.found.append(f"{'.'.join(path)} {ours!r} is that of another request")
        elif isinstance(recorded, dict) and isinstance(ours, dict):
            for name in dict.fromkeys([*recorded, *ours]):
                one, other = recorded.get(name, ABSENT), ours.get(name, ABSENT)
                self._json(kinds, (*path, name), one, other)
        elif isinstance(recorded, list) and isinstance(ours, list) and len(recorded) == len(ours):
            for index, (one, other) in enumerate(zip(recorded, ours)):
                self._json(kinds, (*path, str(index)), one, other)
        else:
            self.value(".".join(path) or "body", recorded, ours)


def _kinds(message: Any) -> tuple[str, ...]:
    """Return the names of a message's places, the general first."""
    if not isinstance(message, dict) or "jsonrpc" not in message:
        return ("body",)
    if "method" not in message:
        return ("answer",)
    return ("request" if "id" in message else "notification", str(message["method"]))


def _of_this_version(client: Any) -> Any:
    """Return how a client is described today, where it is this library."""
    if isinstance(client, dict) and client.get("name") == "mcpclient" and "version" in client:
        return {**client, "version": version.__version__}
    return client


# Parts of words that differ from one run to the next: programs and how they exit, a digest of
# chance, seconds until a day, and what came first of an answer.
_NAMES = re.compile(
    r"with code \d+: .*?\)|(?:[A-Z]:\\|/)\S+(?: -I(?: \S+)?)? \(\d+ (?:more )?arguments\)"
    r"|'[\w+/]{27}='|waiting \d{6,} s|it sent '.*'"
)
_DRIVE = re.compile(r"^file:///[A-Z]:")


def _without_names(words: Any) -> Any:
    return _NAMES.sub("…", words) if isinstance(words, str) else words


def _without_drive(uri: Any) -> Any:
    return _DRIVE.sub("file://", uri) if isinstance(uri, str) else uri


def _challenge_of(verifier: str) -> str:
    """Return the challenge for a verifier, by the method S256 (RFC 7636, 4.2)."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode("ascii").rstrip("=")


def _by_name(headers: Iterable[Iterable[str]]) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in headers:
        name = name.lower()
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined


def _listed(value: str) -> str:
    return ", ".join(sorted(item.strip() for item in value.split(",")))


def _without_parameters(value: str) -> str:
    return value.partition(";")[0].strip().lower()
