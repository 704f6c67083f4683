"""The header of a transcript, and exceptions to its facts and back, secrets replaced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
from .transcript import TRANSCRIPT_VERSION

Facts = Mapping[str, Any]

_OTHER = "other"


def error_facts(error: BaseException, redactor: Redactor) -> dict[str, Any]:
    """Return the record of an exception, with secrets replaced."""
    kind, base = type(error).__name__, _recorded_base(type(error))
    facts = {name: getattr(error, name) for name in _FIELDS[base]}
    if getattr(error, "kind", _OTHER) != _OTHER:
        facts["kind"] = error.kind.value  # type: ignore[attr-defined]
    if "headers" in facts:
        headers = facts["headers"]
        pairs = headers.pairs() if isinstance(headers, Headers) else headers.items()
        facts["headers"] = redactor.headers(pairs)
        facts["body"] = facts["body"].decode("utf-8", "replace")
    if "command" in facts:
        facts["command"] = facts["command"][:1]  # its arguments may hold a key
        error = _made(base, {**facts, "stderr": ""})
    redacted: dict[str, Any] = redactor.message({"text": str(error), **facts})
    return {"type": kind, **redacted}


def error_of(facts: Facts) -> McpError:
    """Return the exception of a transcript, or one of the same branch of the tree.

    An unreadable one becomes a `ConnectionLost`.
    """
    kind = getattr(errors, str(facts.get("type")), None)
    try:
        error = _made(_recorded_base(kind if isinstance(kind, type) else object), facts)
        if "kind" in facts:
            error.kind = type(error.kind)(facts["kind"])  # type: ignore[attr-defined]
        return error
    except (KeyError, TypeError, ValueError, AttributeError):
        return ConnectionLost("the recording does not say how it failed")


def _recorded_base(kind: type) -> type[McpError]:
    return next((base for base in kind.__mro__ if base in _FIELDS), ConnectionLost)


def _made(base: type[McpError], facts: Facts) -> McpError:
    if base is HttpError:
        headers = Headers([(name, value) for name, value in facts["headers"]])
        facts = {**facts, "headers": headers, "body": facts["body"].encode()}
    values = [facts[name] for name in _FIELDS[base] or ("text",)]
    if base is CommandNotFound:
        values.append("that of the recording")
    return base(*values)


# The fields of exceptions that are recorded; of others the text is.
_FIELDS: dict[type[McpError], tuple[str, ...]] = {
    AuthError: (),
    CommandNotFound: ("command", "reason"),
    ConnectFailed: ("target", "reason"),
    ConnectionLost: (),
    HttpError: ("status", "headers", "body", "url"),
    MessageTooLarge: ("limit",),
    ProcessExited: ("command", "exit_code", "stderr"),
    ProtocolViolation: (),
    UsageError: (),
}


def header(transport: str, target: str, recorded: str) -> dict[str, Any]:
    """Return the header of a connection. ``recorded``: when it began (RFC 3339)."""
    return {
        "transcript": TRANSCRIPT_VERSION,
        "transport": transport,
        "target": target,
        "recorded": recorded,
        "by": f"mcpclient {__version__}",
    }
