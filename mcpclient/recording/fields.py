"""The removal of secrets from headers, URLs and forms."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from contextlib import suppress
from urllib.parse import quote_plus, unquote_plus

from .secrets import LONG_VALUE, KnownSecrets, is_secret_name, may_be_secret

_SECRET_HEADERS = frozenset({"dpop", "mcp-session-id"})
# A header that a client sends under any other name may be a key.
_PUBLIC_REQUEST_HEADER = re.compile(
    r"(?i)(?:accept|cache-control|connection|content-|host$|last-event-id$"
    r"|mcp-(?:method|name|param-|protocol-version)|origin$|pragma$|sec-(?:fetch|websocket)-"
    r"|trace(?:parent|state)$|transfer-encoding$|upgrade|user-agent$)"
)
_ENCODED_VALUE = re.compile(r"=\?base64\?([A-Za-z0-9+/=]*)\?=")  # of an Mcp-Param header

# The same holds for queries and forms, except for OAuth fields that are not credentials.
_PUBLIC_FIELDS = frozenset(
    {"actor_token_type", "audience", "client_assertion_type", "client_id", "code_challenge_method"}
    | {"error", "error_description", "error_uri", "grant_type", "iss", "prompt", "redirect_uri"}
    | {"requested_token_type", "resource", "response_type", "scope", "subject_token_type"}
    | {"token_type_hint"}
)

REDACTED_NAME = re.compile(r"redacted-[0-9]+")
# How many secrets a server may name; each further one is replaced where it is named, by one name
# for all of them, and not looked for elsewhere. A user may name any number.
_MAX_RECEIVED = 1000
_ONE_OF_MANY = "redacted-0"


class FieldRedactor:
    """Replaces the secrets in headers, URLs and forms by names, and then wherever they recur.

    The same secret has always the same name, such as ``redacted-1``. It holds the secrets it has
    seen.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._known = KnownSecrets()
        self._is_received = False  # the record at hand
        self._received = 0

    def __repr__(self) -> str:
        return f"<Redactor of {len(self._names)} secrets>"

    def name_of(self, secret: str, *, remember: bool = True) -> str:
        """Return the name that stands for a secret; of such a name, the name itself.

        ``remember``: look for it in all that follows, too.
        """
        if not secret or REDACTED_NAME.fullmatch(secret):
            return secret
        known = self._names.get(secret)
        if known is None:
            if self._is_received:
                self._received += 1
                if self._received > _MAX_RECEIVED:
                    return _ONE_OF_MANY
            known = self._names[secret] = f"redacted-{len(self._names) + 1}"
            if remember:
                self._known.add(secret, known)
        return known

    def headers(self, headers: Iterable[tuple[str, str]], *, sent: bool = False) -> list[list[str]]:
        """Return headers as lists of name and value; a scheme such as ``Bearer`` stays.

        ``sent``: of a request, where only known headers are taken to hold no secret.
        """
        return [[name, self._header(name, value, sent=sent)] for name, value in headers]

    def _header(self, name: str, value: str, *, sent: bool) -> str:
        name = name.lower()
        if name == "location":
            return self.url(value)
        if name in ("cookie", "set-cookie"):
            return self._cookies(value, all_of_them=name == "cookie")
        if name.endswith("authorization"):
            return self._authorization(value)
        argument = self._mirrored(value) if name.startswith("mcp-param-") else ""
        if argument:
            return argument
        if (
            name in _SECRET_HEADERS
            or may_be_secret(name)
            or (sent and not _PUBLIC_REQUEST_HEADER.match(name))
        ):
            return self.name_of(value)
        return self.text(value)

    def _mirrored(self, value: str) -> str:
        """Return the replacement of an argument in a header; empty when it is not a secret."""
        encoded = _ENCODED_VALUE.fullmatch(value)
        if encoded is not None:
            with suppress(ValueError):
                value = base64.b64decode(encoded[1]).decode()
        return self._names.get(value, "")

    def _authorization(self, value: str) -> str:
        scheme, space, secret = value.partition(" ")
        secret = secret.strip()
        if not space:
            return self.name_of(value)
        name = self.name_of(secret)
        if scheme.lower() == "basic":
            with suppress(ValueError):
                user, _, password = base64.b64decode(secret).decode().partition(":")
                secret = password or user  # some keys are given as a user without a password
                self.name_of(secret)
                self.name_of(unquote_plus(secret))  # as a client secret (RFC 6749, 2.3.1)
        return f"{scheme} {name}"

    def _cookies(self, value: str, *, all_of_them: bool) -> str:
        pairs = value.split(";")
        for index, pair in enumerate(pairs if all_of_them else pairs[:1]):
            name, equals, value = pair.partition("=")
            secret = (value if equals else pair).strip(' "')
            pairs[index] = name + equals + self.name_of(secret) if equals else self.name_of(secret)
        return ";".join(pairs)

    def text(self, text: str) -> str:
        """Return a string without known secrets."""
        return self._known.replaced_in(text)

    def url(self, url: str) -> str:
        """Return a URL, or the target of a request, without userinfo and with its query replaced.

        Fields of the query that say which step of OAuth it is stay.
        """
        base, mark, rest = re.sub(r"//[^/?#]*@", "//", url).partition("?")
        query, hash_sign, fragment = rest.partition("#")
        return self.text(base) + mark + self.form(query) + hash_sign + self.form(fragment)

    def form(self, text: str) -> str:
        """Return a query or a form; each field that is not a secret stays as it was."""
        return "&".join(map(self._field, text.split("&")))

    def _field(self, text: str) -> str:
        name, equals, value = text.partition("=")
        if not equals or name in _PUBLIC_FIELDS:
            return self.text(text)
        secret = unquote_plus(value)
        is_certain = is_secret_name(name) or len(secret) >= LONG_VALUE
        shown = self.name_of(secret, remember=is_certain)
        if is_certain and value != secret:  # others may say it as it was sent
            self._known.add_spelling(value, shown)
        return f"{name}={quote_plus(shown)}"
