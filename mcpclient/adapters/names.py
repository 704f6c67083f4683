"""Names and strings that model APIs accept, made from those of servers.

A valid name is kept. In others, invalid characters become ``_`` and the end is cut if need be; a
digest is appended, so that a name is always converted in the same way, regardless of other names.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

_DIGEST = 8


class NameRule:
    """The names that an API accepts: at most ``longest`` characters out of ``allowed``.

    ``allowed`` is the inside of a character class of a regular expression; so is ``first``, if
    given, for the first character.
    """

    def __init__(self, allowed: str, longest: int, first: str | None = None) -> None:
        self._fit = re.compile(f"(?=[{first or allowed}])[{allowed}]{{1,{longest}}}")
        self._unfit = re.compile(f"[^{allowed}]")
        self._longest = longest

    def admits(self, name: str) -> bool:
        """Whether the API accepts the name as it is."""
        return self._fit.fullmatch(name) is not None

    def fitted(self, name: str, taken: Collection[str]) -> str:
        """Return an accepted name that is not in ``taken``; ``name`` itself if possible."""
        if self.admits(name) and name not in taken:
            return name
        clean = self._unfit.sub("_", name) or "_"
        if not self.admits(clean[0]):
            clean = "_" + clean
        if clean not in taken and len(clean) <= self._longest:
            return clean
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        result, count = self._ending(clean, f"_{digest[:_DIGEST]}"), 1
        while result in taken:
            count += 1
            result = self._ending(clean, f"_{digest[:_DIGEST]}_{count}")
        return result

    def _ending(self, name: str, end: str) -> str:
        return name[: self._longest - len(end)] + end


def fit_names(
    names: Iterable[str], rule: NameRule, known: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """Return the name to use for each name, all of them different.

    Names in ``known`` keep theirs. Names that are accepted as they are come next, so that no other
    name is changed into one of them.
    """
    listed = list(dict.fromkeys(names))
    fitted = dict(known)
    taken = set(known.values())
    for name in sorted(set(listed) - fitted.keys(), key=lambda one: (not rule.admits(one), one)):
        fitted[name] = rule.fitted(name, taken)
        taken.add(fitted[name])
    return {name: fitted[name] for name in listed}


LONE_SURROGATES = "\ud800-\udfff"
"""The lone surrogates, as the inside of a character class."""

_LONE = re.compile(f"[{LONE_SURROGATES}]")


def without_surrogates(value: Any) -> Any:
    """Return a JSON value with U+FFFD in place of each lone surrogate, also in keys.

    JSON may contain lone surrogates; the UTF-8 of an HTTP request cannot.
    """
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_surrogates(item) for item in value]
    return value
