"""Names that differ from one session to the next, and which of them mean the same.

A transcript has the ids, ports and secrets of the day it was recorded (secrets as `redacted-1`,
see `mcpclient.recording.redaction`); a client that meets it makes up its own. What the server sent
is played as recorded, with the client's own names put in.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Callable

from mcpclient.recording.transcript import Record

__all__ = ["Names", "is_same_scalar"]

_SECRET = re.compile(r"redacted-[0-9]+")
_ORIGIN = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:|%3A)([0-9]+)")

_ESCAPE = re.compile(r"\\(u[0-9a-f]{4}|.)")
_SPECIAL_IN_HTML = re.compile(r"[&'+<>`]")


def _as_dotnet_does(message: Any) -> str:
    """Return JSON in ASCII, with the characters escaped that mean something in HTML."""

    def escaped(match: re.Match[str]) -> str:
        if match[1] == '"':
            return "\\u0022"
        return f"\\u{match[1][1:].upper()}" if len(match[1]) > 1 else match[0]

    text = _ESCAPE.sub(escaped, json.dumps(message, separators=(",", ":")))
    return _SPECIAL_IN_HTML.sub(lambda match: f"\\u{ord(match[0]):04X}", text)


# How servers write JSON, besides the compact form that a transcript has for usual.
_STYLES: list[Callable[[Any], str]] = [
    *(
        json.JSONEncoder(ensure_ascii=is_ascii, separators=separators).encode
        for is_ascii, separators in itertools.product((True, False), ((",", ":"), (", ", ": ")))
    ),
    _as_dotnet_does,
]

_META = "_meta"
_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


class Names:
    """The names by which values of the client's messages equal the recorded ones.

    ``ports``: the recorded port of each server, and the one that is played on. ``challenge``: the
    last that the client made of a code verifier. A name is bound when
    it is first met: to what the client made up, or, where the server said it first, to itself.
    """

    def __init__(self, ports: Mapping[int, int] | None = None) -> None:
        self.ports = dict(ports or {})
        self.challenge = ""
        self._secrets: dict[str, str] = {}
        self._ids: dict[Any, Any] = {}
        self._tokens: dict[Any, Any] = {}

    def copy(self) -> Names:
        """Return the same, to try what would follow from a comparison."""
        other = Names(self.ports)
        other.challenge = self.challenge
        other._secrets = dict(self._secrets)
        other._ids = dict(self._ids)
        other._tokens = dict(self._tokens)
        return other

    # What the client says

    def bind_id(self, recorded: Any, ours: Any) -> None:
        """Remember the id that the client gave to a request."""
        self._ids[_typed(recorded)] = ours

    def is_id(self, recorded: Any, ours: Any) -> bool:
        """Whether the client means the request that was recorded with this id."""
        return is_same_scalar(self._ids.get(_typed(recorded)), ours)

    def bind_token(self, recorded: Any, ours: Any) -> bool:
        """Remember the progress token of a request; False when another has the same."""
        others = (token for name, token in self._tokens.items() if name != _typed(recorded))
        is_new = not any(is_same_scalar(token, ours) for token in others)
        self._tokens[_typed(recorded)] = ours
        return is_new

    def is_text(self, recorded: str, ours: str) -> bool:
        """Whether a string says the same, but for ports and secrets; secrets are bound by it."""
        if ":" not in ours and "%3A" not in ours and "redacted-" not in recorded:
            return recorded == ours
        ours = _with_ports(ours, {played: port for port, played in self.ports.items()})
        pieces = _SECRET.split(recorded)
        if len(pieces) == 1:
            return recorded == ours
        match = re.fullmatch("(.+)".join(map(re.escape, pieces)), ours, re.DOTALL)
        if match is None:
            return False
        pairs = zip(_SECRET.findall(recorded), match.groups())
        return all(self._secrets.setdefault(name, value) == value for name, value in pairs)

    # What the server says

    def heard(self, texts: Iterable[str]) -> None:
        """Bind the secrets in a message of the server, unless the client said them before."""
        for text in texts:
            for name in _SECRET.findall(text):
                self._secrets.setdefault(name, name)

    def played(self, text: str) -> str:
        """Return a string of the server's with the client's names in it."""
        self.heard([text])
        text = _with_ports(text, self.ports)
        return _SECRET.sub(lambda match: self._secrets[match[0]], text)

    def played_bytes(self, record: Record, render: Callable[[Record], bytes]) -> bytes:
        """Return the bytes of a record of the server's with the client's names in them."""
        if "base64" in record:
            return render(record)
        if "message" in record:
            record = {**record, "message": self.played_message(record["message"])}
        elif "text" in record:
            record = {**record, "text": self._played_json(record["text"])}
        elif isinstance(record.get("event"), dict) and "data" in record["event"]:
            data = record["event"]["data"]
            played = self._played_json if isinstance(data, str) else self.played_message
            record = {**record, "event": {**record["event"], "data": played(data)}}
        text = render(record).decode("utf-8", "surrogatepass")
        return self.played(text).encode("utf-8", "surrogatepass")

    def _played_json(self, text: str) -> str:
        """Return a string with the client's ids in it, if it is a message written otherwise."""
        try:
            message = json.loads(text)
        except ValueError:
            return text
        said = text.rstrip()
        written = (style for style in _STYLES if style(message) == said)
        style = next(written, None)
        return text if style is None else style(self.played_message(message)) + text[len(said) :]

    def played_message(self, message: Any) -> Any:
        """Return a message of the server's with the client's ids in it."""
        if isinstance(message, list):
            return [self.played_message(item) for item in message]
        if not isinstance(message, Mapping) or "jsonrpc" not in message:
            return message
        message = dict(message)
        if "method" not in message and "id" in message:
            message["id"] = self._ids.get(_typed(message["id"]), message["id"])
        for name in ("params", "result"):
            if isinstance(message.get(name), Mapping):
                message[name] = self._played_body(message[name])
        return message

    def _played_body(self, body: Mapping[str, Any]) -> dict[str, Any]:
        body = dict(body)
        if "progressToken" in body:
            token = body["progressToken"]
            body["progressToken"] = self._tokens.get(_typed(token), token)
        meta = body.get(_META)
        if isinstance(meta, Mapping) and _SUBSCRIPTION in meta:
            subscription = meta[_SUBSCRIPTION]
            ours = self._ids.get(_typed(subscription), subscription)
            body[_META] = {**meta, _SUBSCRIPTION: ours}
        return body


def _typed(value: Any) -> tuple[type, Any]:
    return type(value), value


def is_same_scalar(one: Any, other: Any) -> bool:
    """Whether two values are equal as JSON; true is not 1."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _with_ports(text: str, ports: Mapping[int, int]) -> str:
    def replaced(match: re.Match[str]) -> str:
        return f"{match[1]}{match[2]}{ports.get(int(match[3]), match[3])}"

    return _ORIGIN.sub(replaced, text)
