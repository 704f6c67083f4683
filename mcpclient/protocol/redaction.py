"""Taking secrets out of what is shown or stored: headers, URLs and messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["REDACTED", "redact_headers", "redact_message", "redact_url"]

REDACTED = "[redacted]"

_SECRET_HEADERS = frozenset(
    {
        "authorization",
        "cookie",
        "dpop",
        "mcp-session-id",
        "proxy-authorization",
        "set-cookie",
    }
)
_SECRET_NAME = re.compile(
    r"(?i)(?:pass(?:word|wd|phrase)|secret|token|api[-_]?key|access[-_]?key|private[-_]?key"
    r"|authorization|credential|assertion|code[-_]?verifier|signature|cookie)"
)
# Names that only look like secrets: the protocol's own.
_PUBLIC_NAMES = frozenset({"progressToken", "maxTokens"})


def redact_headers(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return headers with the values of secret ones replaced."""
    return [(name, REDACTED if _is_secret_header(name) else value) for name, value in headers]


def _is_secret_header(name: str) -> bool:
    return name.lower() in _SECRET_HEADERS or _SECRET_NAME.search(name) is not None


def redact_url(url: str) -> str:
    """Return a URL without userinfo and with its query replaced."""
    url = re.sub(r"//[^/?#]*@", "//", url)
    base, question_mark, _ = url.partition("?")
    return f"{base}?{REDACTED}" if question_mark else base


def redact_message(value: Any) -> Any:
    """Return a JSON value in which strings under secret-looking names are replaced.

    A schema's ``properties`` are names of parameters, not secrets, and stay.
    """
    if isinstance(value, Mapping):
        return {name: _redact_member(name, member) for name, member in value.items()}
    if isinstance(value, list):
        return [redact_message(item) for item in value]
    return value


def _redact_member(name: str, member: Any) -> Any:
    if isinstance(member, str) and name not in _PUBLIC_NAMES and _SECRET_NAME.search(name):
        return REDACTED
    return redact_message(member)
