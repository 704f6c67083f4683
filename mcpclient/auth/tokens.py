"""Challenges (RFC 9110 section 11, RFC 6750), scopes, and tokens with their lifetimes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from ..display import HIDDEN
from ..errors import AuthError, UsageError
from ..errors.authorization import TokenRequestFailed
from .effects import Response, StoredItem, number_in, parse_object, read_record
from .options import ApiKey, BearerToken

# Longer header fields are cut off; no known server sends as much.
_MAX_FIELD_LENGTH = 16_384

_WORD = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_QUOTED = r'"(?:[^"\\]|\\.)*'
_ITEM = re.compile(
    rf"[ \t,]*(?:(?P<name>{_WORD})[ \t]*=[ \t]*"
    # Many servers forget to quote URLs, so an unquoted value may hold more than a token.
    rf'(?:(?P<quoted>{_QUOTED}")|(?P<plain>[^\s,"]+))'
    rf"|(?P<scheme>{_WORD})(?:[ \t]+|(?=,)|$)(?:[0-9A-Za-z._~+/-]+=*[ \t]*(?=,|$))?"
    rf'|{_QUOTED}"?|[^,"]+)',
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


# One challenge: its scheme as written, and its parameters under lower-case names.
Challenge = tuple[str, dict[str, str]]


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
                of_field.append((item["scheme"], {}))
            elif item["name"] and of_field:
                quoted = item["quoted"]
                value = item["plain"] if quoted is None else _ESCAPED.sub(r"\1", quoted[1:-1])
                # The first of two parameters with the same name counts.
                of_field[-1][1].setdefault(item["name"].lower(), value)
        found += of_field
    return found


def read_challenge(fields: Iterable[str]) -> AuthorizationChallenge:
    """Read the OAuth challenge in the WWW-Authenticate header fields of a 401 or 403."""
    parameters: dict[str, str] = {}
    schemes = set()
    for scheme, named in parse_challenges(fields):
        if scheme.lower() in ("bearer", "dpop"):
            schemes.add(scheme.lower())
            for name, value in named.items():
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


# A token is renewed this many seconds before it expires; a short-lived one after half its life.
EARLY_EXPIRY = 60

# Longer lifetimes count as unlimited, and some stores cannot represent them.
_MAX_LIFETIME = 10 * 365 * 24 * 3600

# The characters of an Authorization header (RFC 6750 section 2.1, RFC 9110 section 5.5). With a
# line break in a token, a server could add headers to requests.
_TOKEN = re.compile(r"[!-~]{1,65536}", re.ASCII)
_UNPRINTABLE = re.compile(rf"[^ -~{HIDDEN}]+")
_MAX_DESCRIPTION_LENGTH = 300
# A header value; between its ends there may be spaces.
_VALUE = re.compile(r"[!-~](?:[ -~]*[!-~])?", re.ASCII)


@dataclass(frozen=True)
class TokenSet:
    """The tokens of one response.

    ``token_type`` is "Bearer" or "DPoP". ``expires_at`` and ``renew_at`` are seconds since the
    epoch. They, and ``scopes`` (those granted), are None where the server did not say.
    """

    access_token: str = field(repr=False)
    token_type: str = "Bearer"
    expires_at: float | None = None
    renew_at: float | None = None
    refresh_token: str | None = field(default=None, repr=False)
    scopes: tuple[str, ...] | None = None

    def should_renew(self, now: float) -> bool:
        """Whether to get a new token, though the old one may still be valid."""
        return self.renew_at is not None and now >= self.renew_at

    def has_expired(self, now: float) -> bool:
        """Whether the token has become invalid."""
        return self.expires_at is not None and now >= self.expires_at

    def to_record(self) -> dict[str, object]:
        """Return a JSON object, secrets included."""
        return {**vars(self), "scopes": None if self.scopes is None else list(self.scopes)}

    @classmethod
    def from_record(cls, record: StoredItem) -> TokenSet | None:
        """Read a record of `to_record`; None when it is damaged."""
        tokens = read_record(cls, record)
        return tokens if tokens is not None and _TOKEN.fullmatch(tokens.access_token) else None


def parse_token_response(response: Response, secrets: Sequence[str]) -> Mapping[str, object]:
    """Return the fields of a successful token response.

    It may be JSON or, from some servers, form-encoded. Raises TokenRequestFailed for an error, even
    with status 200; ``secrets`` are removed from the server's message.
    """
    fields = _fields(response)
    raise_for_error(response, fields, secrets)
    access_token = fields.get("access_token")
    if not isinstance(access_token, str) or not _TOKEN.fullmatch(access_token):
        raise TokenRequestFailed(
            "invalid_response", "there is no usable access token in it", response.status
        )
    return fields


def token_set(fields: Mapping[str, object], now: float, previous: TokenSet | None) -> TokenSet:
    """Return the tokens in ``fields``; fields that a refresh leaves out stay as in ``previous``.

    ``now``: seconds since the epoch. Raises AuthError for an unknown token_type.
    """
    token_type = str(fields.get("token_type") or "Bearer")
    if token_type.lower() not in ("bearer", "dpop"):
        raise AuthError("the authorization server issued a token of an unsupported type")
    lifetime = _lifetime(fields.get("expires_in"))
    refresh_token = fields.get("refresh_token")
    scope = fields.get("scope")
    if not isinstance(refresh_token, str) or not refresh_token:
        refresh_token = previous.refresh_token if previous else None
    if isinstance(scope, str):
        scopes: tuple[str, ...] | None = parse_scope(scope)
    else:
        scopes = previous.scopes if previous else None
    return TokenSet(
        access_token=str(fields["access_token"]),
        token_type="DPoP" if token_type.lower() == "dpop" else "Bearer",
        expires_at=None if lifetime is None else now + lifetime,
        renew_at=None if lifetime is None else now + lifetime - min(EARLY_EXPIRY, lifetime / 2),
        refresh_token=refresh_token,
        scopes=scopes,
    )


def raise_for_error(
    response: Response, fields: Mapping[str, object], secrets: Sequence[str]
) -> None:
    """Raise TokenRequestFailed when the response is an error (RFC 6749 section 5.2)."""
    error = fields.get("error")
    if error is None and 200 <= response.status < 300:
        return
    description = fields.get("error_description")
    raise TokenRequestFailed(
        safe_text(error, secrets) or "invalid_response",
        safe_text(description, secrets),
        response.status,
    )


def _fields(response: Response) -> Mapping[str, object]:
    document = parse_object(response.body)
    if document is not None:
        return document
    content_type = (response.header("content-type") or "").partition(";")[0].strip().lower()
    if content_type not in ("application/x-www-form-urlencoded", "text/plain"):
        return {}
    try:
        return dict(parse_qsl(response.body.decode("utf-8", "replace"), max_num_fields=50))
    except ValueError:  # too many fields
        return {}


def safe_text(text: object, secrets: Sequence[str]) -> str:
    """Return a server's message as an error may show it: printable, short, without ``secrets``."""
    if not isinstance(text, str):
        return ""
    # A server may repeat the request, secrets included.
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return _UNPRINTABLE.sub(" ", text)[:_MAX_DESCRIPTION_LENGTH].strip()


def _lifetime(value: object) -> float | None:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    # Servers that mean "never" send zero or less; if it has expired, a 401 follows.
    number = number_in(value)
    return min(number, _MAX_LIFETIME) if number is not None and number > 0 else None


def static_header(options: BearerToken | ApiKey, value: object) -> dict[str, str]:
    """Return the header for a token or key. Raises `UsageError` for a value that is not one."""
    if not isinstance(value, str) or not value:
        raise UsageError("the function for a token must return a string that is not empty")
    if not _VALUE.fullmatch(value):
        raise UsageError("the token or key has characters that a header cannot carry")
    if isinstance(options, BearerToken):
        return {"Authorization": f"Bearer {value}"}
    return {options.header: value}
