"""Secrets: names that mark one, strings with the shape of one, and known ones in any string."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
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


_KEY_NAME = re.compile(r"(?i)(?:^|[-_])key$")
# A shorter secret is looked for as a word of its own: within words it may be there by chance.
LONG_VALUE = 8
# A still shorter one may be any word, and is replaced only where it is named.
_SHORT = 4
# How much of a secret is compared, and how many that begin alike are kept apart. What
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
        width = LONG_VALUE if len(spelling) >= LONG_VALUE else _SHORT
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
        long = self._by_start.get(text[position : position + LONG_VALUE])
        if long is not None and len(text) - position >= LONG_VALUE:
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


def without_values(text: str, variables: Mapping[str, str]) -> str:
    """Return a string with ``${NAME}`` for the value of a variable; which, see `Redactor.learn`."""
    known = KnownSecrets()
    for name, value in variables.items():
        if may_be_secret(name, value):
            known.add(value, f"${{{name}}}")
    return known.replaced_in(text)


def may_be_secret(name: str, value: str = "") -> bool:
    """Whether the value of a variable or a header may be a secret: by its length, or its name."""
    return len(value) >= LONG_VALUE or is_secret_name(name) or _KEY_NAME.search(name) is not None
