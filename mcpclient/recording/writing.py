"""Records and exceptions to the lines of a transcript, secrets replaced, and back to exceptions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable, NamedTuple

from .. import __version__, errors
from ..errors import (
    AuthError,
    CommandNotFound,
    ConnectFailed,
    ConnectionLost,
    HttpError,
    McpError,
    MessageTooLarge,
    ProcessExited,
    ProtocolViolation,
    UsageError,
)
from ..framing.headers import Headers
from .redaction import Redactor
from .transcript import TRANSCRIPT_VERSION, HttpChannel, Records, write_line

Facts = Mapping[str, Any]

_OTHER = "other"


class _Form(NamedTuple):
    """The recorded fields of an exception, and a function that makes it of them again."""

    fields: tuple[str, ...]
    make: Callable[[Facts], McpError]


def error_facts(error: BaseException, redactor: Redactor) -> dict[str, Any]:
    """Return the record of an exception, with secrets replaced."""
    kind, form = type(error).__name__, _form_for(type(error))
    facts = {name: getattr(error, name) for name in form.fields}
    if getattr(error, "kind", _OTHER) != _OTHER:
        facts["kind"] = error.kind.value  # type: ignore[attr-defined]
    if "headers" in facts:
        headers = facts["headers"]
        pairs = headers.pairs() if isinstance(headers, Headers) else headers.items()
        facts["headers"] = redactor.headers(pairs)
        facts["body"] = facts["body"].decode("utf-8", "replace")
    if "command" in facts:
        facts["command"] = facts["command"][:1]  # its arguments may hold a key
        error = form.make({**facts, "stderr": ""})
    redacted: dict[str, Any] = redactor.message({"text": str(error), **facts})
    return {"type": kind, **redacted}


def error_of(facts: Facts) -> McpError:
    """Return the exception of a transcript, or one of the same branch of the tree.

    An unreadable one becomes a `ConnectionLost`.
    """
    kind = getattr(errors, str(facts.get("type")), None)
    try:
        error = _form_for(kind if isinstance(kind, type) else object).make(facts)
        if "kind" in facts:
            error.kind = type(error.kind)(facts["kind"])  # type: ignore[attr-defined]
        return error
    except (KeyError, TypeError, ValueError, AttributeError):
        return ConnectionLost("the recording does not say how it failed")


def _form_for(kind: type) -> _Form:
    return next((_FORMS[base] for base in kind.__mro__ if base in _FORMS), _FORMS[ConnectionLost])


def _http_error(facts: Facts) -> HttpError:
    headers = Headers([(name, value) for name, value in facts["headers"]])
    return HttpError(facts["status"], headers, facts["body"].encode(), facts["url"])


def _command_not_found(facts: Facts) -> CommandNotFound:
    return CommandNotFound(facts["command"], facts["reason"], "that of the recording")


def _process_exited(facts: Facts) -> ProcessExited:
    return ProcessExited(facts["command"], facts["exit_code"], facts["stderr"])


_FORMS: dict[type, _Form] = {
    AuthError: _Form((), lambda facts: AuthError(facts["text"])),
    CommandNotFound: _Form(("command", "reason"), _command_not_found),
    ConnectFailed: _Form(
        ("target", "reason"), lambda facts: ConnectFailed(facts["target"], facts["reason"])
    ),
    ConnectionLost: _Form((), lambda facts: ConnectionLost(facts["text"])),
    HttpError: _Form(("status", "headers", "body", "url"), _http_error),
    MessageTooLarge: _Form(("limit",), lambda facts: MessageTooLarge(facts["limit"])),
    ProcessExited: _Form(("command", "exit_code", "stderr"), _process_exited),
    ProtocolViolation: _Form((), lambda facts: ProtocolViolation(facts["text"])),
    UsageError: _Form((), lambda facts: UsageError(facts["text"])),
}


class TranscriptWriter:
    """A writer of the lines of a transcript; secrets it has seen stay known in all later ones."""

    def __init__(self) -> None:
        self._redactor = Redactor()

    def learn(self, variables: Mapping[str, str]) -> None:
        """Register the secrets among variables, which may turn up in any string."""
        texts = [pair for pair in variables.items() if all(isinstance(one, str) for one in pair)]
        self._redactor.learn(dict(texts))

    def learn_schemas(self, schemas: Mapping[str, Any]) -> None:
        """Register input schemas of tools, by name, which mark arguments as secret."""
        self._redactor.schemas.update(schemas)

    def masked(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of a call without the arguments that are known to be secret."""
        return self._redactor.masked(params)

    def header(self, transport: str, target: str, recorded: str) -> dict[str, Any]:
        """Return the header of a connection. ``recorded``: when it began (RFC 3339)."""
        return {
            "transcript": TRANSCRIPT_VERSION,
            "transport": transport,
            "target": target,
            "recorded": recorded,
            "by": f"mcpclient {__version__}",
        }

    def line(self, value: Mapping[str, Any]) -> str:
        """Return a header or a record as a line, with its line end."""
        return write_line(self._redactor.record(value))

    def error_facts(self, error: BaseException) -> dict[str, Any]:
        """Return the record of an exception."""
        return error_facts(error, self._redactor)

    def http_channel(self, records: Records, name: str) -> HttpChannel:
        """Begin the records of a request and its response."""
        return HttpChannel(records, name)
