"""Finding secrets that are known in any text, in time that grows with the text alone.

A server may name thousands of secrets, and long texts in which to look for them. So they are looked
up by how they begin, at each place of a text, and nothing is done for each secret.
"""

from __future__ import annotations

import json
import re
from urllib.parse import quote, quote_plus

# A shorter secret is looked for as a word of its own: within words it may be there by chance.
_LONG = 8
# A still shorter one is as good as any word, and replaced only where it is named.
_SHORT = 4
# How much of a secret is compared, and how many that begin alike are told from each other. What
# follows is then taken to belong to it.
_COMPARED = 1024
_MAX_ALIKE = 8
# With so few, it is faster to ask first whether a text has any of them.
_FEW = 32

_REST = re.compile(r"[^\s\"'<>&,;]*")


class KnownSecrets:
    """Secrets with what stands for them."""

    def __init__(self) -> None:
        self._by_start: dict[str, list[tuple[str, str]]] = {}
        self._shortest = _LONG

    def add(self, secret: str, name: str) -> None:
        """Look for a secret from now on, however it is spelled; one of under 4 characters never."""
        if len(secret) >= _SHORT:
            for spelling in _spellings(secret):
                self.add_spelling(spelling, name)

    def add_spelling(self, spelling: str, name: str) -> None:
        """Look for a secret as it is written here, and not otherwise."""
        width = _LONG if len(spelling) >= _LONG else _SHORT
        self._shortest = min(self._shortest, width)
        alike = self._by_start.setdefault(spelling[:width], [])
        if len(alike) <= _MAX_ALIKE and all(spelling != other for other, _ in alike):
            alike.append((spelling[:_COMPARED], name))
            alike.sort(key=_length, reverse=True)

    def replaced_in(self, text: str) -> str:
        """Return the text with the names of the secrets in their place."""
        starts = self._by_start
        if len(starts) <= _FEW and not any(start in text for start in starts):
            return text
        pieces = []
        done = position = 0
        while position <= len(text) - self._shortest:
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
        if long is not None:
            if len(long) > _MAX_ALIKE:
                return _end_of_rest(text, position), long[0][1]
            for spelling, name in long:
                if text.startswith(spelling, position):
                    end = position + len(spelling)
                    return (_end_of_rest(text, end) if len(spelling) == _COMPARED else end), name
        if self._shortest == _SHORT:
            for spelling, name in self._by_start.get(text[position : position + _SHORT], ()):
                end = position + len(spelling)
                if text.startswith(spelling, position) and _is_word(text, position, end):
                    return end, name
        return 0, ""


def _length(entry: tuple[str, str]) -> int:
    return len(entry[0])


def _end_of_rest(text: str, position: int) -> int:
    rest = _REST.match(text, position)
    return max(rest.end() if rest is not None else 0, position + 1)


def _is_word(text: str, start: int, end: int) -> bool:
    return not (text[max(start - 1, 0) : start].isalnum() or text[end : end + 1].isalnum())


def _spellings(secret: str) -> set[str]:
    """How a secret may stand in a text: as it is, in a URL, in a form, and in JSON."""
    return {
        secret,
        quote(secret, safe="", errors="surrogatepass"),
        quote_plus(secret, errors="surrogatepass"),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
    }
