"""The challenges of a 401 or 403 (RFC 9110 section 11, RFC 6750), and scopes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

# Longer header fields are cut off; no known server sends as much.
_MAX_FIELD_LENGTH = 16_384

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_QUOTED = r'"(?:[^"\\]|\\.)*'
_ITEM = re.compile(
    rf"[ \t,]*(?:(?P<name>{_TOKEN})[ \t]*=[ \t]*"
    # Many servers forget to quote URLs, so an unquoted value may hold more than a token.
    rf'(?:(?P<quoted>{_QUOTED}")|(?P<plain>[^\s,"]+))'
    rf"|(?P<scheme>{_TOKEN})(?:[ \t]+|(?=,)|$)(?:[0-9A-Za-z._~+/-]+=*[ \t]*(?=,|$))?"
    rf'|{_QUOTED}"?|[^,"]+)',
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class Challenge(NamedTuple):
    """One challenge: its scheme as written, and its parameters under lower-case names."""

    scheme: str
    parameters: dict[str, str]


@dataclass(frozen=True)
class AuthorizationChallenge:
    """The demand of a server's Bearer and DPoP challenges together.

    ``scopes`` is None when no scope was named. ``dpop_only``: DPoP was offered and Bearer was not.
    """

    resource_metadata: str | None = None
    scopes: tuple[str, ...] | None = None
    error: str | None = None
    dpop_only: bool = False


def parse_challenges(fields: Iterable[str]) -> list[Challenge]:
    """Parse WWW-Authenticate header fields; text outside the grammar is skipped, up to a comma."""
    found: list[Challenge] = []
    for text in fields:
        of_field: list[Challenge] = []
        for item in _ITEM.finditer(text[:_MAX_FIELD_LENGTH]):
            if item["scheme"]:
                of_field.append(Challenge(item["scheme"], {}))
            elif item["name"] and of_field:
                quoted = item["quoted"]
                value = item["plain"] if quoted is None else _ESCAPED.sub(r"\1", quoted[1:-1])
                # The first of two parameters with the same name counts.
                of_field[-1].parameters.setdefault(item["name"].lower(), value)
        found += of_field
    return found


def read_challenge(fields: Iterable[str]) -> AuthorizationChallenge:
    """Read the OAuth challenge of a 401 or 403 from its WWW-Authenticate header fields.

    Each parameter comes from the first Bearer or DPoP challenge that has it.
    """
    parameters: dict[str, str] = {}
    schemes = set()
    for challenge in parse_challenges(fields):
        scheme = challenge.scheme.lower()
        if scheme in ("bearer", "dpop"):
            schemes.add(scheme)
            for name, value in challenge.parameters.items():
                parameters.setdefault(name, value)
    scope = parameters.get("scope")
    return AuthorizationChallenge(
        resource_metadata=parameters.get("resource_metadata"),
        scopes=None if scope is None else parse_scope(scope),
        error=parameters.get("error"),
        dpop_only=schemes == {"dpop"},
    )


OFFLINE_ACCESS = "offline_access"

# Bounds on the scopes that a server can make a client store and send.
_MAX_SCOPES = 200
_MAX_SCOPE_LENGTH = 256
# A scope token by RFC 6749 section 3.3.
_SCOPE_TOKEN = re.compile(rf"[\x21\x23-\x5b\x5d-\x7e]{{1,{_MAX_SCOPE_LENGTH}}}")


def parse_scope(text: str) -> tuple[str, ...]:
    """Split a space-separated string into valid scopes, each once."""
    return union(text.split())


def union(*groups: Iterable[str]) -> tuple[str, ...]:
    """Return the valid scopes of ``groups``, each once, in the order of their first appearance."""
    valid = (scope for group in groups for scope in group if _SCOPE_TOKEN.fullmatch(scope))
    return tuple(dict.fromkeys(valid))[:_MAX_SCOPES]
