"""Taking secrets out of what is shown or stored: headers, URLs and messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote_plus, unquote_plus

__all__ = ["REDACTED", "Redactor", "redact_headers", "redact_message", "redact_url"]

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
    r"|authorization|credential|assertion|(?:device|user)[-_]?code|code[-_]?verifier|signature"
    r"|cookie)"
)
# Names that only look like secrets: the protocol's own, and what OAuth says about secrets.
_PUBLIC_NAMES = frozenset({"progressToken", "maxTokens"})
_PUBLIC_NAME = re.compile(r"(?i)_(?:endpoint|hint|methods?|parameter|supported|types?|ur[il]s?)$")
# What in a query or a form is a secret, or is made up for a single use, besides those names.
_SINGLE_USE = re.compile(r"(?i)(?:code|code_challenge|nonce|state|session_?id)$")


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
    if isinstance(member, str) and _is_secret_name(name):
        return REDACTED
    return redact_message(member)


def _is_secret_name(name: str) -> bool:
    is_public = name in _PUBLIC_NAMES or _PUBLIC_NAME.search(name) is not None
    return not is_public and _SECRET_NAME.search(name) is not None


class Redactor:
    """Replaces secrets by names: the same secret always by the same, such as ``redacted-1``.

    So what is written shows where a token came from and where it went, and can be replayed. One
    redactor serves one transcript; it holds the secrets it has seen. Strings under secret-looking
    names are replaced in JSON, in headers, and in queries and forms.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"<Redactor of {len(self._names)} secrets>"

    def name_of(self, secret: str) -> str:
        """Return the name that stands for a secret; of one it made itself, that name."""
        if not secret or secret in self._names.values():
            return secret
        return self._names.setdefault(secret, f"redacted-{len(self._names) + 1}")

    def headers(self, headers: Iterable[tuple[str, str]]) -> list[list[str]]:
        """Return headers as lists of name and value; a scheme such as ``Bearer`` stays."""
        return [[name, self._header(name, value)] for name, value in headers]

    def _header(self, name: str, value: str) -> str:
        if name.lower() == "location":
            return self.url(value)
        if not _is_secret_header(name):
            return value
        scheme, space, secret = value.partition(" ")
        if space and name.lower().endswith("authorization"):
            return f"{scheme} {self.name_of(secret)}"
        return self.name_of(value)

    def message(self, value: Any) -> Any:
        """Return a JSON value; a schema's parameters with such names are no strings, and stay."""
        if isinstance(value, Mapping):
            return {name: self._member(name, member) for name, member in value.items()}
        if isinstance(value, list):
            return [self.message(item) for item in value]
        return value

    def _member(self, name: str, member: Any) -> Any:
        if isinstance(member, str) and _is_secret_name(name):
            return self.name_of(member)
        return self.message(member)

    def url(self, url: str) -> str:
        """Return a URL, or the target of a request, without userinfo and with its query replaced."""
        base, mark, rest = re.sub(r"//[^/?#]*@", "//", url).partition("?")
        query, hash_sign, fragment = rest.partition("#")
        return base + mark + self.form(query) + hash_sign + fragment

    def form(self, text: str) -> str:
        """Return a query or a form; of each field that is no secret, the text as it was."""
        return "&".join(map(self._field, text.split("&")))

    def _field(self, text: str) -> str:
        name, equals, value = text.partition("=")
        if not equals or not (_is_secret_name(name) or _SINGLE_USE.match(name)):
            return text
        return f"{name}={quote_plus(self.name_of(unquote_plus(value)))}"
