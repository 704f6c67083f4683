"""Secrets: names that mark one, strings with the shape of one, and known ones in any string."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Callable, NamedTuple
from urllib.parse import quote, quote_plus

# Anything else is not a name.
_NAME = re.compile(r"[\w .@:$\[\]-]{1,100}")
# Names are compared by words: `apiKey`, `API_KEY`, `api-key` and `ApiKey` are one.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")

_SECRET_NAME = re.compile(
    r"pass(?:word|wd|phrase|code)|secret|token|credential|authorization|assertion|cookie|signature"
    r"|(?:access|account|api|auth|encryption|function|host|license|master|private|secret|service"
    r"|shared|signing|ssh|subscription)_?key"
    r"|(?:access|activation|auth|backup|device|one_time|pairing|recovery|security|user"
    r"|verification)_?code"
    r"|code_?verifier|connection_string|conn_str|uri_complete$"
    r"|(?:^|_)(?:auth|bearer|creds?|csrf|cvc|cvv|dsn|jwt|mfa|otp|pass|pat|pin|psk|pw|pwd|ssn|totp"
    r"|xsrf)s?(?:_|$)"
)
# Names about a secret that are not secrets: words of the protocol and of OAuth.
_PUBLIC_NAME = re.compile(
    r"^(?:progress_token|max_tokens)$|_(?:alg|at|budget|count|description|enabled|endpoint|expiry"
    r"|expires|format|hint|in|label|length|limit|methods?|mode|name|parameters?|policy|provider"
    r"|realm|required|scheme|servers?|status|strategy|supported|title|types?|ur[il]s?|usage)$"
)
_SECRET_ITSELF = re.compile(
    r"(?:password|passwd|passphrase|passcode|secret|token|authorization|assertion|cookie|signature"
    r"|key|code|verifier|(?:^|_)(?:pass|pat|pin|psk|pwd?|otp|jwt|bearer))s?(?:_[0-9]+)?$"
)
_COUNT = re.compile(r"(?:^|_)tokens(?:_|$)")

# Tokens that services give a form of their own, and keys in PEM.
TOKEN = re.compile(
    r"\beyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]*"
    r"|\b(?:gh[opsu]_|ghr_|github_pat_|glpat-|hf_|npm_|sk-|sk_live_|sk_test_|rk_live_|shpat_|whsec_"
    r"|xox[abeoprs]-|ya29\.|AIza|pypi-)[\w-]{16,}"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]{1,10000}(?:-----END [A-Z ]{0,30}-----)?"
)


@lru_cache(maxsize=1024)  # the same names come again and again
def is_secret_name(name: str) -> bool:
    """Whether a value of this name is a secret: a JSON member, a variable, an option, a field."""
    if not _NAME.fullmatch(name):
        return False
    words = _words(name)
    return _SECRET_NAME.search(words) is not None and _PUBLIC_NAME.search(words) is None


def names_secret(name: str) -> bool:
    """Whether a value of this name is itself the secret, by the last word of the name.

    ``API_TOKEN`` is; ``TOKEN_COMMAND``, ``PRIVATE_KEY_PATH`` and ``X-Auth-Host`` are only about
    one, and may name a program, a file or a host.
    """
    return is_secret_name(name) and _SECRET_ITSELF.search(_words(name)) is not None


def is_count_name(name: str) -> bool:
    """Whether a number of this name counts the tokens of a language model."""
    return _COUNT.search(_words(name)) is not None


def _words(name: str) -> str:
    return "_".join(_WORD.findall(name)).lower()


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
    """The place of a value: whether it is a secret, and its name, or that of its list."""

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


# A shorter secret is looked for as a word of its own: within words it may be there by chance.
_LONG = 8
# A still shorter one may be any word, and is replaced only where it is named.
_SHORT = 4
# How much of a secret is compared, and how many that begin alike are told from each other. What
# follows is then taken to belong to it.
_COMPARED = 1024
_MAX_ALIKE = 8
# With so few, it is faster to check first whether a string has any of them.
_FEW = 32

_REST = re.compile(r"[^\s\"'<>&,;]*")


class KnownSecrets:
    """Known secrets, each with its replacement."""

    def __init__(self) -> None:
        self._by_start: dict[str, list[tuple[str, str]]] = {}

    def add(self, secret: str, name: str) -> None:
        """Look for a secret from now on, however it is spelled; one of under 4 characters never."""
        if len(secret) >= _SHORT:
            # As it is, in a URL, in a form, and in JSON.
            self.add_spelling(secret, name)
            self.add_spelling(quote(secret, safe="", errors="surrogatepass"), name)
            self.add_spelling(quote_plus(secret, errors="surrogatepass"), name)
            for is_ascii in (True, False):
                self.add_spelling(json.dumps(secret, ensure_ascii=is_ascii)[1:-1], name)

    def add_spelling(self, spelling: str, name: str) -> None:
        """Look for a secret as it is written here, and not otherwise."""
        width = _LONG if len(spelling) >= _LONG else _SHORT
        alike = self._by_start.setdefault(spelling[:width], [])
        if len(alike) <= _MAX_ALIKE and all(spelling != other for other, _ in alike):
            alike.append((spelling[:_COMPARED], name))
            alike.sort(key=lambda entry: len(entry[0]), reverse=True)

    def replaced_in(self, text: str) -> str:
        """Return the text with the names of the secrets in their place."""
        starts = self._by_start
        if len(starts) <= _FEW and not any(start in text for start in starts):
            return text
        pieces = []
        done = position = 0
        while position <= len(text) - _SHORT:
            end, name = self._found_at(text, position)
            if end:
                pieces += [text[done:position], name]
                done = position = end
            else:
                position += 1
        return "".join([*pieces, text[done:]])

    def _found_at(self, text: str, position: int) -> tuple[int, str]:
        """Return where the secret that begins here ends, and its name; 0 when there is none."""
        long = self._by_start.get(text[position : position + _LONG])
        if long is not None and len(text) - position >= _LONG:
            if len(long) > _MAX_ALIKE:
                return _end_of_rest(text, position), long[0][1]
            for spelling, name in long:
                if text.startswith(spelling, position):
                    end = position + len(spelling)
                    return (_end_of_rest(text, end) if len(spelling) == _COMPARED else end), name
        for spelling, name in self._by_start.get(text[position : position + _SHORT], ()):
            end = position + len(spelling)
            around = text[max(position - 1, 0) : position], text[end : end + 1]
            if text.startswith(spelling, position) and not any(map(str.isalnum, around)):
                return end, name
        return 0, ""


def _end_of_rest(text: str, position: int) -> int:
    rest = _REST.match(text, position)
    return max(rest.end() if rest is not None else 0, position + 1)
