"""Known secrets, and their replacement in any string."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from urllib.parse import quote, quote_plus

from .secrets import is_secret_name

KEY_NAME = re.compile(r"(?i)(?:^|[-_])key$")
LONG_VALUE = 8
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


def without_values(text: str, variables: Mapping[str, str]) -> str:
    """Return a string with ``${NAME}`` for the value of a variable; which, see `Redactor.learn`."""
    known = KnownSecrets()
    for name, value in variables.items():
        if may_be_secret(name, value):
            known.add(value, f"${{{name}}}")
    return known.replaced_in(text)


def may_be_secret(name: str, value: str) -> bool:
    """Whether the value of a variable is treated as a secret: by its length, or by its name."""
    return len(value) >= LONG_VALUE or is_secret_name(name) or KEY_NAME.search(name) is not None
