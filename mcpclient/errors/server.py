"""Errors of the server: it answered, and the answer is not a result."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Any

from .root import SHOWN_BODY, McpError


class ServerError(McpError):
    """The server answered, and the answer is not a result."""


class PeerError(ServerError):
    """The server answered a request with a JSON-RPC error object.

    Fields: ``code`` (an integer, see `mcpclient.ErrorCode`), ``message``, ``data`` (any JSON value
    or None), all exactly as the server sent them; ``raw`` (the whole error object, where one was
    received, else None); ``method``, ``subject`` (the tool, prompt or URI
    that the request was for) and ``target`` (the server), each empty where it is not known.
    """

    def __init__(
        self, code: int, message: str, data: Any = None, raw: Mapping[str, Any] | None = None
    ) -> None:
        self.method = self.subject = self.target = ""
        self.raw = raw
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        server = self.target or "the server"
        subject = f" {self.subject!r}" if self.subject else ""
        request = f" {self.method}{subject}" if self.method else ""
        return f"{server} answered{request} with error {self.code}: {self.message}"


class UrlElicitationRequired(PeerError):
    """The call can be made only after someone has visited a URL (error -32042 of 2025-11-25).

    Fields besides `PeerError`'s: ``elicitations``, one mapping for each visit, with ``url``,
    ``elicitationId`` and ``message``. Show the whole URL and ask before opening it; when the visit
    is over, make the call again.
    """

    @property
    def elicitations(self) -> tuple[Mapping[str, Any], ...]:
        """The visits the server wants; what it sent in another form is left out."""
        listed = self.data.get("elicitations") if isinstance(self.data, dict) else None
        found = listed if isinstance(listed, list) else []
        return tuple(
            item for item in found if isinstance(item, dict) and isinstance(item.get("url"), str)
        )


class ToolError(ServerError):
    """A tool reported its own failure, and ``raise_on_error=True`` was asked for.

    Fields: ``tool`` (its name) and ``result`` (the whole call result).
    """

    def __init__(self, tool: str, result: Any) -> None:
        self.tool = tool
        self.result = result

    def __str__(self) -> str:
        return f"tool {self.tool!r} failed: {self.result.text[:SHOWN_BODY]}"


class ResultMismatch(ServerError):
    """The data of a result is not of the type that ``returns`` asked for.

    Fields: ``tool`` (its name), ``place`` (where in the data, such as ``".items[2].price"``, empty
    for the data itself), ``problem`` and ``result`` (the whole call result).
    """

    def __init__(self, tool: str, place: str, problem: str, result: Any) -> None:
        self.tool = tool
        self.place = place
        self.problem = problem
        self.result = result

    def __str__(self) -> str:
        place = f" at {self.place}" if self.place else ""
        return f"the result of tool {self.tool!r} does not fit{place}: {self.problem}"


class TaskFailed(ServerError):
    """A task ended, or the server no longer knows it, and there is neither a result nor an error.

    Fields: ``task_id``, ``status`` (the last one known, such as ``"cancelled"``) and ``message``:
    what the server said about it, or the reason found here; None when there is neither.
    """

    def __init__(self, task_id: str, status: str, message: str | None = None) -> None:
        self.task_id = task_id
        self.status = status
        self.message = message

    def __str__(self) -> str:
        text = f"task {self.task_id} gave no result; its status is {self.status!r}"
        return f"{text}: {self.message}" if self.message else text


class ViolationKind(str, Enum):
    """The way in which a server broke the protocol (`ProtocolViolation.kind`)."""

    OTHER = "other"
    NOT_HTTP = "not_http"
    PAGE = "page"
    NOT_JSON = "not_json"
    NOT_JSON_RPC = "not_json_rpc"


class ProtocolViolation(ServerError):
    """The server sent something the protocol does not allow.

    Fields: ``reason`` and ``kind``. Only the call named by the bad message fails; others go on.
    """

    def __init__(self, reason: str, kind: ViolationKind = ViolationKind.OTHER) -> None:
        self.reason = reason
        self.kind = kind

    def __str__(self) -> str:
        return self.reason


class MessageTooLarge(ProtocolViolation):
    """A message exceeded ``max_message_size``; it was discarded with bounded memory.

    Field: ``limit`` in bytes.
    """

    def __init__(self, limit: int) -> None:
        super().__init__(f"the server sent a message larger than {limit} bytes")
        self.limit = limit


class NotOffered(ProtocolViolation):
    """The server asked for something that was not declared as a capability."""


class SchemaError(ProtocolViolation):
    """A schema that cannot be used: malformed, unresolvable, of an unknown dialect, too large.

    Fields: ``fault`` (what is wrong) and ``location`` (where in the schema, as a URI whose
    fragment is a JSON pointer, ``"#/properties/age/type"``).
    """

    def __init__(self, fault: str, location: str) -> None:
        super().__init__(f"the JSON Schema cannot be used, at {location}: {fault}")
        self.fault = fault
        self.location = location


class SkillVerificationError(ProtocolViolation):
    """The content of a skill does not agree with its entry, so it must not be used.

    Fields: ``uri`` (of the file, or of the skill itself), ``check`` (``"entry"``, ``"unlisted"``,
    ``"size"``, ``"digest"`` or ``"front matter"``) and ``reason``. The skill may have changed since
    its entry was fetched: then fetch the entry again, and ask for approval again.
    """

    def __init__(self, uri: str, check: str, reason: str) -> None:
        super().__init__(reason)
        self.uri = uri
        self.check = check

    def __str__(self) -> str:
        return f"skill file {self.uri} failed its {self.check} check: {self.reason}"


class TemplateError(ProtocolViolation):
    """A template that does not follow RFC 6570.

    Fields: ``template``, ``position`` (the index of the offending character) and ``fault``.
    """

    def __init__(self, template: str, position: int, fault: str) -> None:
        super().__init__(f"the URI template {template!r} is malformed at {position}: {fault}")
        self.template = template
        self.position = position
        self.fault = fault


class HttpError(ServerError):
    """The server answered an HTTP request with a status that is not a success.

    Fields: ``status`` (integer), ``headers`` (case-insensitive mapping), ``body`` (bytes, at most
    64 KiB of them), ``url`` (without credentials or query), and ``authenticate``, the values of
    ``WWW-Authenticate`` and ``Mcp-Auth-Server``, which name the missing authorization after
    a 401 or 403. ``advice``: the way out, where one is known.
    """

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes, url: str = "") -> None:
        self.advice = ""
        self.status = status
        self.headers = headers
        self.body = body
        self.url = url

    @property
    def authenticate(self) -> tuple[str, ...]:
        """The headers of the answer about authorization, one string each."""
        found = (self.headers.get("www-authenticate"), self.headers.get("mcp-auth-server"))
        return tuple(value for value in found if value)

    @property
    def negotiated(self) -> str:
        """The scheme, where a 401 or 407 offers only Kerberos or NTLM; otherwise empty."""
        name = {401: "www-authenticate", 407: "proxy-authenticate"}.get(self.status, "")
        return negotiated_scheme(self.headers.get(name, "")) if name else ""

    def __str__(self) -> str:
        text = f"HTTP {self.status} from {self.url}" if self.url else f"HTTP {self.status}"
        if self.status in _HINTS:
            text += f" ({_HINTS[self.status]})"
        for challenge in self.authenticate:
            text += f"; the server asks for: {challenge}"
        if self.advice:
            text += f"; {self.advice}"
        # Masked before it is cut: the beginning of a secret is one, too.
        body = self._without_secrets(self.body.decode("utf-8", "replace"))[:SHOWN_BODY].strip()
        if "html" in self.headers.get("content-type", "").lower():  # a page, made for a browser
            body = " ".join(re.sub(_MARKUP, " ", body).split())
        return f"{text}: {body}" if body else text


def negotiated_scheme(challenge: str) -> str:
    """Return the scheme of a challenge that offers only Kerberos or NTLM, otherwise ""."""
    found = re.match(r"(?i)\s*(negotiate|ntlm|kerberos)\b", challenge)
    others = re.search(r"(?i)\b(?:bearer|dpop|basic|digest)\b", challenge)
    if not found or others:
        return ""
    return "Negotiate" if re.search(r"(?i)\bnegotiate\b", challenge) else found[1]


_MARKUP = r"(?is)<(style|script)\b.*?(?:</\1>|\Z)|<[^>]*(?:>|\Z)"
_REDIRECT = "a redirect that is not followed: to another origin, in a loop, or changing the method"
_HINTS: dict[int, str] = {
    **dict.fromkeys((301, 302, 303, 307, 308), _REDIRECT),
    401: "authorization is needed",
    403: "forbidden with these credentials",
    404: "no such endpoint or session",
    405: "the endpoint does not take this method",
    407: "the proxy wants credentials",
    429: "too many requests; see Retry-After",
    503: "the service is unavailable; see Retry-After",
}


class SessionExpired(HttpError):
    """The server has forgotten the session: a 404 for a request that carried the session id this
    server had issued, or a 400 that says so.

    Field besides `HttpError`'s: ``is_new``, whether that session had just begun: then the
    server loses its sessions, or several servers share one address without sharing sessions.
    """

    is_new: bool = False
