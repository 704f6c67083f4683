"""Taking secrets out of what is written down: one class decides what is one."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import repeat
from typing import Any
from urllib.parse import quote, quote_plus, unquote, unquote_plus

__all__ = ["Redactor"]

_SECRET_NAME = re.compile(
    r"(?i)(?:pass(?:word|wd|phrase)|secret|token|api[-_]?key|access[-_]?key|private[-_]?key"
    r"|authorization|credential|assertion|(?:device|user)[-_]?code|code[-_]?verifier|signature"
    r"|cookie|uri_complete$)"
)
# Names that only look like secrets: the protocol's own, and what OAuth says about secrets.
_PUBLIC_NAMES = frozenset({"progressToken", "maxTokens"})
_PUBLIC_NAME = re.compile(
    r"(?i)_(?:endpoint|hint|methods?|parameter|servers?|supported|types?|ur[il]s?)$"
)

_SECRET_HEADERS = frozenset({"dpop", "mcp-session-id"})
_KEY_HEADER = re.compile(r"(?i)(?:^|[-_])key$")
# What a client sends under another name may be a key, whatever the name is.
_PUBLIC_REQUEST_HEADER = re.compile(
    r"(?i)(?:accept|cache-control|connection|content-|host$|last-event-id$"
    r"|mcp-(?:method|name|param-|protocol-version)|origin$|pragma$|sec-(?:fetch|websocket)-"
    r"|trace(?:parent|state)$|transfer-encoding$|upgrade|user-agent$)"
)

# The same goes for queries and forms, but for what OAuth says in them about what is to be done.
_PUBLIC_FIELDS = frozenset(
    {
        "actor_token_type",
        "audience",
        "client_assertion_type",
        "client_id",
        "code_challenge_method",
        "grant_type",
        "redirect_uri",
        "requested_token_type",
        "resource",
        "response_type",
        "scope",
        "subject_token_type",
        "token_type_hint",
    }
)

# In running text: the password in a URL, a field of a query or the first of a form, and a member of
# what may be JSON, also of one that is cut off.
_URL_PASSWORD = re.compile(r"(?<=://)([^/\s\"'<>@:]*):([^/\s\"'<>@]+)@")
_QUERY_FIELD = re.compile(r"(?:(?<=[?&])|\A(?=[\w.-]+=[^&\s]*&))([\w.-]+)=([^&#\s\"'<>\\]+)")
_SESSION_FIELD = re.compile(r"(?i)session_?id$")
_JSON_MEMBER = re.compile(r'"([^"\\\n]{1,64})"(\s*:\s*)"((?:[^"\\]|\\.)+)(?:(")|\\?\Z)')

_NAME = re.compile(r"redacted-[0-9]+")
# A shorter secret may also be an ordinary word, so it is replaced only where it is named.
_LONG_ENOUGH = 8

# More levels than `json` reads: what is nested deeper contains itself.
_DEEPEST = 100_000

_NO_MORE: tuple[Any, Any] = (None, None)


class Redactor:
    """Replaces secrets by names: the same secret always by the same, such as ``redacted-1``.

    So what is written shows where a token came from and where it went, and can be replayed. One
    redactor serves one transcript; it holds the secrets it has seen. A string is a secret when its
    name looks like one, wherever that stands: in JSON, also within texts, in headers, queries and
    forms; and when it was a secret before.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._spellings: dict[str, str] = {}  # of those that are long enough

    def __repr__(self) -> str:
        return f"<Redactor of {len(self._names)} secrets>"

    def name_of(self, secret: str) -> str:
        """Return the name that stands for a secret; of such a name, the name itself."""
        if not secret or _NAME.fullmatch(secret):
            return secret
        known = self._names.get(secret)
        if known is None:
            known = self._names[secret] = f"redacted-{len(self._names) + 1}"
            if len(secret) >= _LONG_ENOUGH:
                self._spellings.update(dict.fromkeys(_spellings(secret), known))
        return known

    def record(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return a record of a transcript, with its head, its message, its event and its text."""
        redacted = dict(record)
        if "http" in record:
            redacted["http"] = self._head(record["http"])
        for name in ("message", "event"):
            if name in record:
                redacted[name] = self.message(record[name])
        if "text" in record:
            redact = self.form if _is_form(record.get("http", {})) else self.text
            redacted["text"] = redact(record["text"])
        if "base64" in record:
            redacted["base64"] = self._base64(record["base64"])
        for name in ("end", "target"):
            if name in record:
                redacted[name] = self.text(record[name])
        return redacted

    def _base64(self, encoded: str) -> str:
        text = base64.b64decode(encoded).decode("latin-1")  # which has a character for each byte
        return base64.b64encode(self.text(text).encode("latin-1", "replace")).decode("ascii")

    def _head(self, head: Mapping[str, Any]) -> dict[str, Any]:
        redacted = dict(head)
        if "target" in head:
            redacted["target"] = self.url(head["target"])
        if "reason" in head:
            redacted["reason"] = self.text(head["reason"])
        redacted["headers"] = self.headers(head.get("headers", ()), sent="method" in head)
        return redacted

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
        is_secret = name in _SECRET_HEADERS or _is_secret_name(name) or _KEY_HEADER.search(name)
        if is_secret or (sent and not _PUBLIC_REQUEST_HEADER.match(name)):
            return self.name_of(value)
        return self.text(value)

    def _authorization(self, value: str) -> str:
        scheme, space, secret = value.partition(" ")
        secret = secret.strip()
        if not space:
            return self.name_of(value)
        name = self.name_of(secret)
        if scheme.lower() == "basic":
            self._learn_basic(secret)
        return f"{scheme} {name}"

    def _learn_basic(self, encoded: str) -> None:
        try:
            user, _, password = base64.b64decode(encoded).decode().partition(":")
        except ValueError:
            return
        secret = password or user  # some keys are given as a user without a password
        self.name_of(secret)
        self.name_of(unquote_plus(secret))  # a client secret is written so (RFC 6749, 2.3.1)

    def _cookies(self, value: str, *, all_of_them: bool) -> str:
        pairs = value.split(";")
        for index, pair in enumerate(pairs if all_of_them else pairs[:1]):
            name, equals, value = pair.partition("=")
            secret = (value if equals else pair).strip(' "')
            pairs[index] = name + equals + self.name_of(secret) if equals else self.name_of(secret)
        return ";".join(pairs)

    def message(self, value: Any) -> Any:
        """Return a JSON value, of any depth; a schema's parameters with such names are no strings,
        and stay.

        Raises ValueError for a value that contains itself.
        """
        copies: list[Any] = []
        levels: list[tuple[Iterator[tuple[Any, Any]], Any, bool]] = []
        levels.append((zip(repeat(None), [value]), copies, False))
        while levels:
            members, copy, is_secret = levels[-1]
            entry = next(members, _NO_MORE)
            if entry is _NO_MORE:
                levels.pop()
                continue
            name, member = entry
            if isinstance(copy, dict):
                is_secret = isinstance(name, str) and _is_secret_name(name)
            copied = self._leaf(member, is_secret=is_secret)
            if isinstance(copy, dict):
                copy[self.text(name) if isinstance(name, str) else name] = copied
            else:
                copy.append(copied)
            if isinstance(copied, dict):
                levels.append((iter(member.items()), copied, False))
            elif isinstance(copied, list):
                levels.append((zip(repeat(None), member), copied, is_secret))
            if len(levels) > _DEEPEST:
                raise ValueError("a message that contains itself")
        return copies[0]

    def _leaf(self, value: Any, *, is_secret: bool) -> Any:
        """Return what stands for a value; for an object or an array, an empty one."""
        if isinstance(value, str):
            return self.name_of(value) if is_secret else self.text(value)
        if isinstance(value, (list, tuple)):
            return []
        return {} if isinstance(value, Mapping) else value

    def text(self, text: str) -> str:
        """Return any text; in it are replaced members of JSON, fields of queries, and secrets
        that are known by now.
        """
        shown = self._replaced_in(text)
        if text[:1] in ("{", "[", '"'):
            with suppress(ValueError, RecursionError):  # it is no JSON
                value = json.loads(text)
                redacted = self.message(value)
                # Some are not seen from without, as in a list, or in JSON in a string of JSON.
                if redacted != value and redacted != json.loads(shown):
                    return json.dumps(redacted, ensure_ascii=False)
        return shown

    def _replaced_in(self, text: str) -> str:
        if '"' in text:
            text = _JSON_MEMBER.sub(self._json_member, text)
        if "://" in text:
            text = _URL_PASSWORD.sub(self._url_password, text)
        if "=" in text:
            text = _QUERY_FIELD.sub(self._query_field, text)
        if len(text) >= _LONG_ENOUGH:
            known = [spelling for spelling in self._spellings if spelling in text]
            for spelling in sorted(known, key=len, reverse=True):
                text = text.replace(spelling, self._spellings[spelling])
        return text

    def _json_member(self, match: re.Match[str]) -> str:
        name, colon, value, end = match.groups()
        if not _is_secret_name(name):
            return match[0]
        with suppress(ValueError):  # where it is no JSON, it is no less a secret
            value = json.loads(f'"{value}"', strict=False)
        return f'"{name}"{colon}"{self.name_of(value)}{end or ""}'

    def _url_password(self, match: re.Match[str]) -> str:
        user, password = match.groups()
        return f"{user}:{self.name_of(unquote(password))}@"

    def _query_field(self, match: re.Match[str]) -> str:
        name, value = match.groups()
        if not _is_secret_name(name) and not _SESSION_FIELD.search(name):
            return match[0]
        return f"{name}={quote_plus(self.name_of(unquote_plus(value)))}"

    def url(self, url: str) -> str:
        """Return a URL, or the target of a request, without userinfo and with its query replaced.

        What the query says about the steps of OAuth stays.
        """
        base, mark, rest = re.sub(r"//[^/?#]*@", "//", url).partition("?")
        query, hash_sign, fragment = rest.partition("#")
        return self.text(base) + mark + self.form(query) + hash_sign + self.form(fragment)

    def form(self, text: str) -> str:
        """Return a query or a form; of each field that is no secret, the text as it was."""
        return "&".join(map(self._field, text.split("&")))

    def _field(self, text: str) -> str:
        name, equals, value = text.partition("=")
        if not equals or name in _PUBLIC_FIELDS:
            return self.text(text)
        shown = self.name_of(unquote_plus(value))
        if len(value) >= _LONG_ENOUGH:  # others may say it as it was sent
            self._spellings.setdefault(value, shown)
        return f"{name}={quote_plus(shown)}"


def _spellings(secret: str) -> set[str]:
    """How a secret may stand in a text: as it is, in a URL, in a form, and in JSON."""
    return {
        secret,
        quote(secret, safe="", errors="surrogatepass"),
        quote_plus(secret, errors="surrogatepass"),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
    }


@lru_cache(maxsize=256)  # the same names come again and again
def _is_secret_name(name: str) -> bool:
    is_public = name in _PUBLIC_NAMES or _PUBLIC_NAME.search(name) is not None
    return not is_public and _SECRET_NAME.search(name) is not None


def _is_form(head: Mapping[str, Any]) -> bool:
    return any(
        name.lower() == "content-type" and value.lower().startswith("application/x-www-form")
        for name, value in head.get("headers", ())
    )
