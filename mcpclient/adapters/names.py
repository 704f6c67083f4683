"""Names and strings that model APIs accept, made from those of servers, and the way back.

A name that is fit stays. In another, characters that are not allowed become ``_``, and one that is
too long is cut; its place is then taken by a digest, so that the same name always gives the same
result, whatever else is there.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

_DIGEST = 8


class NameRule:
    """Which names an API takes: at most ``longest`` of the characters ``allowed``.

    ``allowed`` is the inside of a class in a regular expression; ``first``, where it is given, is
    that of the first character.
    """

    def __init__(self, allowed: str, longest: int, first: str | None = None) -> None:
        self._fit = re.compile(f"(?=[{first or allowed}])[{allowed}]{{1,{longest}}}")
        self._unfit = re.compile(f"[^{allowed}]")
        self._longest = longest

    def admits(self, name: str) -> bool:
        """Whether the name can stay as it is."""
        return self._fit.fullmatch(name) is not None

    def fitted(self, name: str, taken: Collection[str]) -> str:
        """Return a name that is admitted and not in ``taken``; ``name`` itself where possible."""
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
    """Return every name with the one to use in its place, all different.

    Those of ``known`` keep what they have. Then come names that are fit: no other may take one of
    theirs.
    """
    listed = list(dict.fromkeys(names))
    fitted = dict(known)
    taken = set(known.values())
    for name in sorted(set(listed) - fitted.keys(), key=lambda one: (not rule.admits(one), one)):
        fitted[name] = rule.fitted(name, taken)
        taken.add(fitted[name])
    return {name: fitted[name] for name in listed}


LONE_SURROGATES = "\ud800-\udfff"
"""As the inside of a class in a regular expression."""

_LONE = re.compile(f"[{LONE_SURROGATES}]")


def without_surrogates(value: Any) -> Any:
    """Return a JSON value with U+FFFD in place of every half of a surrogate pair, in keys too."""
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_surrogates(item) for item in value]
    return value
