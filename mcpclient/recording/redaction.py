"""The removal of secrets from records: one class decides which values are secret."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Callable, NamedTuple
from urllib.parse import quote_plus, unquote, unquote_plus

from .secret_arguments import masked, schemas_with_secrets
from .secrets import (
    LONG_VALUE,
    TOKEN,
    KnownSecrets,
    is_count_name,
    is_secret_name,
    may_be_secret,
)

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

# In running text: the user and the password in a URL, a field of a query or the first of a form,
# and a member of what may be JSON, also of one that is cut off.
_URL_USER = re.compile(r"(?<=://)([^/\s\"'<>@:]*)(?::([^/\s\"'<>@]*))?@")
_QUERY_FIELD = re.compile(r"(?:(?<=[?&])|\A(?=[\w.-]+=[^&\s]*&))([\w.-]+)=([^&#\s\"'<>\\]+)")
_SESSION_FIELD = re.compile(r"(?i)session_?id$")
_JSON_MEMBER = re.compile(r'"([^"\\\n]{1,64})"(\s{0,9}:\s{0,9})"((?:[^"\\]|\\.)+)(?:(")|\\?\Z)')

# Then credentials as in a header, `NAME=value`, `name: value` and `--name value`. What begins with
# another character stands for a value, as in `${NAME}` and `<your key>`, or is one of JSON.
_VALUE = r"\"[\w+/~!@#&^.-][^\"\n]*|'[\w+/~!@#&^.-][^'\n]*|[\w+/~!@#&^.-][^\s\"'&<>,;)}\]]*"
_AUTHORIZATION = re.compile(
    r"(?i)(\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?)([A-Za-z][\w-]{0,30} +)?([\w+/~.=-]+)"
)
_SCHEME = re.compile(r"(?i)\b(bearer|basic|dpop)( +)([\w+/~.-]{6,}=*)(?![\w\"=])")
_ASSIGNMENT = re.compile(
    rf"(?<![\w$])([A-Za-z_][\w.-]{{1,63}})([\"']?\s{{0,3}}[:=]\s{{0,3}})({_VALUE})"
)
_OPTION = re.compile(rf"(?<![\w-])--?([A-Za-z][\w-]{{0,63}})( +)({_VALUE})")
_NO_SECRET = re.compile(r"(?i)(?:[\"']?)(?:true|false|null|none|redacted-[0-9]+|[\W_]*)\Z")
_PROSE = re.compile(r"[a-z]+|[A-Z][a-z]*")
# Words joined by characters outside base64 are not credentials: `a:basic offline_access`, scopes.
_SCOPE = re.compile(r"[A-Za-z]+(?:[_.-][A-Za-z]+)+")

TOO_DEEP = "(JSON nested too deeply to be written)"


# The keywords that hold schemas of parameters by their names, and the keywords of one of them.
_PARAMETERS = frozenset({"properties", "patternProperties", "$defs", "definitions"})
_KEYWORDS = frozenset(
    ("type", "$ref", "description", "title", "anyOf", "oneOf", "allOf", "enum", "const", "format")
)
_VALUES_IN_A_SCHEMA = frozenset({"default", "const", "enum", "example", "examples"})

# How the members of a value are judged: by their names, as secrets, as schemas by the names of
# their parameters, as the keywords in the schema of a secret.
_BY_NAME, _SECRET, _PARAMETER, _KEYWORD = range(4)


class Place(NamedTuple):
    """The place of a value: whether it is a secret, and its name, or the name of its list."""

    is_secret: bool
    name: str


_ROOT = Place(False, "")


def walk(
    value: Any,
    leaf: Callable[[Any, Place], Any],
    key: Callable[[Any], Any] = lambda name: name,
    place: Place = _ROOT,
    judged: int = _BY_NAME,
) -> Any:
    """Return a copy of a JSON value, in which ``leaf`` replaces each value without members, and
    ``key`` the name of each member.

    Raises RecursionError for a value that is nested too deeply, or contains itself.
    """
    if isinstance(value, Mapping):
        members = {}
        for name, member in value.items():
            inner = _judged(value, judged, name, member)
            own = Place(inner == _SECRET, name if isinstance(name, str) else place.name)
            members[key(name)] = walk(member, leaf, key, own, inner)
        return members
    if not isinstance(value, (list, tuple)):
        return leaf(value, place)
    items = []
    before: Any = None
    for item in value:
        is_option = isinstance(before, str) and before.startswith("-")
        is_secret = place.is_secret or (is_option and is_secret_name(before))
        own = Place(is_secret, place.name)
        items.append(walk(item, leaf, key, own, _SECRET if is_secret else _BY_NAME))
        before = item
    return items


def _judged(owner: Mapping[Any, Any], judged: int, name: Any, member: Any) -> int:
    """Return how a member of an object is judged, and its own members."""
    if judged == _SECRET:
        return _SECRET
    if judged == _KEYWORD:
        return _SECRET if name in _VALUES_IN_A_SCHEMA else _BY_NAME
    if name in _PARAMETERS and isinstance(member, Mapping):
        return _PARAMETER
    if isinstance(name, str) and is_secret_name(name):
        is_schema = isinstance(member, bool) or (
            isinstance(member, Mapping) and (not member or not _KEYWORDS.isdisjoint(member))
        )
        return _KEYWORD if judged == _PARAMETER and is_schema else _SECRET
    if name == "value":  # of a pair such as {"name": "API_KEY", "value": "…"}
        named = owner.get("name", owner.get("key"))
        return _SECRET if isinstance(named, str) and is_secret_name(named) else _BY_NAME
    # The result of an elicitation, with the user's input
    is_input = name == "content" and owner.get("action") == "accept" and isinstance(member, Mapping)
    return _SECRET if is_input else _BY_NAME


class Redactor:
    """Replaces secrets by names: the same secret always by the same, such as ``redacted-1``.

    So a record shows where a token came from and where it went, and can be replayed. One
    redactor serves one transcript; it holds the secrets it has seen. A string is a secret when its
    name looks like one, wherever that stands: in JSON, also within strings, in headers, queries and
    forms; and when it was a secret before. So is an argument that the schema of its tool marks.

    ``schemas``: the input schemas of tools, by name, that mark some.
    """

    def __init__(self, schemas: dict[str, Any] | None = None) -> None:
        self.schemas: dict[str, Any] = {} if schemas is None else schemas
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

    def learn(self, variables: Mapping[str, str]) -> None:
        """Register the values of variables as secrets, which may turn up in any string.

        All of 8 characters and more; a shorter one where its name says so.
        """
        for name, value in variables.items():
            if not isinstance(name, str) or not isinstance(value, str):
                continue  # it is refused where it is used
            self.text(value)  # a part of it may be one, such as the password in a URL
            if may_be_secret(name, value):
                self.name_of(value)

    def record(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return a record of a transcript, with its head, its message, its event and its text."""
        redacted = dict(record)
        self._is_received = record.get("direction") == "received"
        for name in ("message", "event"):
            if name in record:
                redacted[name] = self.message(self.unmarked(record[name]))
        if "http" in record:  # after the message, whose arguments a header may repeat
            redacted["http"] = self._head(record["http"])
        if "text" in record:
            headers = record.get("http", {}).get("headers", ())
            kinds = [value.lower() for name, value in headers if name.lower() == "content-type"]
            is_form = any(kind.startswith("application/x-www-form") for kind in kinds)
            redacted["text"] = (self.form if is_form else self.text)(record["text"])
        if "base64" in record:
            text = base64.b64decode(record["base64"]).decode("latin-1")  # a character for each byte
            encoded = self.text(text).encode("latin-1", "replace")
            redacted["base64"] = base64.b64encode(encoded).decode("ascii")
        for name in ("end", "target"):
            if name in record:
                redacted[name] = self.text(record[name])
        self._is_received = False
        return redacted

    def masked(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of a call; each argument that a schema marks has its name."""
        name = params.get("name")
        schema = self.schemas.get(name) if isinstance(name, str) else None
        if schema is None:
            return dict(params)
        arguments = masked(params.get("arguments"), schema, schema, self._whole)
        return {**params, "arguments": arguments}

    def _whole(self, value: Any) -> Any:
        """Return the replacement of a secret that may have members."""
        if isinstance(value, (dict, list)):
            return walk(value, lambda leaf, place: self._whole(leaf))
        return value if isinstance(value, bool) or value is None else self.name_of(str(value))

    def unmarked(self, message: Any) -> Any:
        """Return a message without arguments that a schema marks; learn the schemas it lists."""
        if isinstance(message, list):
            return [self.unmarked(each) for each in message]
        if not isinstance(message, Mapping):
            return message
        result, params = message.get("result"), message.get("params")
        if isinstance(result, Mapping) and isinstance(result.get("tools"), list):
            listed = [tool for tool in result["tools"] if isinstance(tool, Mapping)]
            self.schemas.update(schemas_with_secrets(listed))
        if message.get("method") == "tools/call" and isinstance(params, Mapping):
            return {**message, "params": self.masked(params)}
        return message

    def _head(self, head: Mapping[str, Any]) -> dict[str, Any]:
        redacted = dict(head)
        if "target" in head:
            redacted["target"] = self.url(head["target"])
        if "reason" in head:
            redacted["reason"] = self.text(head["reason"])
        redacted["headers"] = self.headers(head.get("headers", ()), sent="method" in head)
        return redacted

    # Headers, URLs and forms

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

    # JSON and running text

    def message(self, value: Any) -> Any:
        """Return a JSON value; a schema's parameters with such names stay.

        One that is nested too deeply, as one that contains itself is, has a note in its place.
        """
        try:
            return walk(value, self._leaf, self._name)
        except RecursionError:
            return TOO_DEEP

    def _name(self, name: Any) -> Any:
        return self.text(name) if isinstance(name, str) else name

    def _leaf(self, value: Any, place: Place) -> Any:
        if isinstance(value, str):
            return self.name_of(value) if place.is_secret else self.text(value)
        if not place.is_secret or isinstance(value, bool) or value is None:
            return value
        return value if is_count_name(place.name) else self.name_of(str(value))

    def text(self, text: str) -> str:
        """Return a string without known secrets, and those in members of JSON and in queries."""
        shown = self._replaced_in(text)
        if text[:1] in ("{", "[", '"'):
            with suppress(ValueError, RecursionError):  # it is not JSON
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
            text = _URL_USER.sub(self._url_user, text)
        if "=" in text:
            text = _QUERY_FIELD.sub(self._query_field, text)
        if "=" in text or ":" in text:
            text = _AUTHORIZATION.sub(self._authorization_in_text, text)
            text = _ASSIGNMENT.sub(self._assignment, text)
        if "-" in text or " " in text:
            text = _OPTION.sub(self._assignment, text)
            text = _SCHEME.sub(self._scheme, text)
        text = TOKEN.sub(lambda match: self.name_of(match[0]), text)
        return self._known.replaced_in(text)

    def _json_member(self, match: re.Match[str]) -> str:
        name, colon, value, end = match.groups()
        if not is_secret_name(name):
            return match[0]
        with suppress(ValueError):  # anything but JSON is just as secret
            value = json.loads(f'"{value}"', strict=False)
        return f'"{name}"{colon}"{self.name_of(value)}{end or ""}'

    def _url_user(self, match: re.Match[str]) -> str:
        user, password = match.groups()
        shown = self.name_of(unquote(user))  # a token is often given as the user
        return f"{shown}@" if password is None else f"{shown}:{self.name_of(unquote(password))}@"

    def _query_field(self, match: re.Match[str]) -> str:
        name, value = match.groups()
        if not is_secret_name(name) and not _SESSION_FIELD.search(name):
            return match[0]
        return f"{name}={quote_plus(self.name_of(unquote_plus(value)))}"

    def _authorization_in_text(self, match: re.Match[str]) -> str:
        before, scheme, secret = match.groups(default="")
        return f"{before}{scheme}{self._name_in_text(secret)}"

    def _scheme(self, match: re.Match[str]) -> str:
        scheme, space, secret = match.groups()
        if _PROSE.fullmatch(secret):  # "Bearer authentication" is not a secret
            return match[0]
        if scheme.lower() == "basic" and _SCOPE.fullmatch(secret):
            return match[0]
        return f"{scheme}{space}{self.name_of(secret)}"

    def _assignment(self, match: re.Match[str]) -> str:
        name, between, value = match.groups()
        if not is_secret_name(name) or _NO_SECRET.fullmatch(value):
            return match[0]
        quote = value[0] if value[0] in "\"'" else ""
        secret = value[len(quote) :]
        if secret.isdigit() and is_count_name(name):
            return match[0]
        end = ""
        if between.startswith('"') and not quote:
            quote = end = '"'  # a number in JSON becomes a string
        start = match[0][: match.start(2) - match.start()]
        return f"{start}{between}{quote}{self._name_in_text(secret)}{end}"

    def _name_in_text(self, secret: str) -> str:
        """Return the name of a value in the place of a secret; a plain word is not remembered."""
        return self.name_of(secret, remember=_PROSE.fullmatch(secret) is None)
