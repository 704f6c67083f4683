"""What a 401 or 403 asks for: WWW-Authenticate by the grammar of RFC 9110 section 11."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .scopes import parse_scope

# Longer header fields are not read to the end; no server has that much to say.
_MAX_FIELD_LENGTH = 16_384

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PARAMETER = re.compile(
    rf"(?P<name>{_TOKEN})[ \t]*=[ \t]*"
    # Many servers forget to quote URLs, so an unquoted value may hold more than a token.
    r'(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^\s,"]+))',
    re.DOTALL,
)
_SCHEME = re.compile(rf"(?P<scheme>{_TOKEN})(?:[ \t]+|(?=,)|$)")
_TOKEN68 = re.compile(r"(?P<token68>[0-9A-Za-z._~+/-]+=*)[ \t]*(?=,|$)")
_SEPARATORS = re.compile(r"[ \t,]*")
_SKIPPED = re.compile(r'"(?:[^"\\]|\\.)*"?|[^,"]+', re.DOTALL)


@dataclass(frozen=True)
class Challenge:
    """One challenge: its scheme as written, and its parameters under lower-case names.

    Of a parameter named twice, the first counts. ``token68`` is kept for schemes that use it.
    """

    scheme: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    token68: str | None = None


@dataclass(frozen=True)
class AuthorizationChallenge:
    """What a server's Bearer and DPoP challenges say together.

    ``scopes`` is None when no scope was named. ``dpop_only`` tells that DPoP was offered and Bearer
    was not.
    """

    resource_metadata: str | None = None
    scopes: tuple[str, ...] | None = None
    error: str | None = None
    dpop_only: bool = False


def parse_challenges(fields: Iterable[str]) -> list[Challenge]:
    """Every challenge in the values of the WWW-Authenticate header fields, in order.

    Never raises: what does not follow the grammar is skipped up to the next comma.
    """
    challenges: list[Challenge] = []
    for text in fields:
        challenges.extend(_parse_field(text[:_MAX_FIELD_LENGTH]))
    return challenges


def _parse_field(text: str) -> list[Challenge]:
    found: list[tuple[str, dict[str, str], str | None]] = []
    position = _skip(_SEPARATORS, text, 0)
    while position < len(text):
        parameter = _PARAMETER.match(text, position)
        scheme = _SCHEME.match(text, position)
        if parameter and found:
            _, parameters, _ = found[-1]
            parameters.setdefault(parameter["name"].lower(), _value(parameter))
            position = parameter.end()
        elif scheme:
            position = scheme.end()
            token68 = _TOKEN68.match(text, position)
            if token68:
                position = token68.end()
            found.append((scheme["scheme"], {}, token68["token68"] if token68 else None))
        else:
            position = _skip(_SKIPPED, text, position)
        position = _skip(_SEPARATORS, text, position)
    return [Challenge(scheme, parameters, token68) for scheme, parameters, token68 in found]


def _skip(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position + 1


def _value(parameter: re.Match[str]) -> str:
    quoted = parameter["quoted"]
    if quoted is None:
        return parameter["plain"]
    return re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)


def read_challenge(fields: Iterable[str]) -> AuthorizationChallenge:
    """What the WWW-Authenticate header fields of a 401 or 403 say about OAuth.

    Of each parameter the first Bearer or DPoP challenge that has it counts (RFC 6750 section 3,
    RFC 9728 section 5.1, RFC 9449 section 7.1).
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
