"""Search for the tools that fit a few words, when there are too many to show them all.

Ranked by the words of a tool's name, title, description and parameters. Nothing is learned or kept:
the same query over the same tools gives the same order.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import TypeVar

from .types import Tool
from .wire_object import object_in, string_at

AnyTool = TypeVar("AnyTool", bound=Tool)

# The weight of a word, by the field it is in.
_NAME, _TITLE, _PARAMETER, _DESCRIPTION = 6.0, 4.0, 2.0, 1.0
# The share of the weight for the beginning of a longer word: "issue" in "issues".
_PREFIX_SHARE = 0.6
# Shorter beginnings fit too many words.
_MIN_PREFIX_LENGTH = 3
# Characters of a description that are read; it may have any length.
_READ = 4000

_WORD = re.compile(r"[^\W_]+")
# Words of most descriptions and questions, which say nothing about a tool.
_STOP_WORDS = frozenset(
    _WORD.findall(
        "a an and are as at be by can do does for from have how i in into is it me my of on or "
        "please so that the this to tool tools use using want what which will with you your"
    )
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def search_tools(query: str, tools: Iterable[AnyTool], *, limit: int = 5) -> list[AnyTool]:
    """Return at most ``limit`` tools that have words of ``query``, the best first.

    A word of the query counts the more, the fewer tools have it, and "the" and its like not at all;
    a word in a name weighs more than one in a description. Tools of equal rank stay in their order.
    A name given in full comes first. Empty when no word fits.
    """
    candidates = list(tools)
    index = ToolIndex()
    for tool in candidates:
        index.add(tool)
    return [candidates[place] for place in index.search(query, limit)]


class ToolIndex:
    """The words of tools, each tool by its place: made once for many searches."""

    def __init__(self) -> None:
        self._names: dict[str, list[int]] = {}
        self._count = 0
        # For each word the tools that have it, with the weight of its best place there.
        self._weights: dict[str, dict[int, float]] = {}

    def add(self, tool: Tool) -> None:
        """Add a tool behind the others."""
        place, self._count = self._count, self._count + 1
        self._names.setdefault(tool.name.lower(), []).append(place)
        parameters = object_in(object_in(tool.input_schema).get("properties"))
        texts = [string_at(value, "description") or "" for value in parameters.values()]
        places = [
            (_DESCRIPTION, [tool.description or "", *texts]),
            (_PARAMETER, parameters),
            (_TITLE, [tool.title or ""]),
            (_NAME, [tool.name]),
        ]
        for weight, found in places:
            for word in _words(" ".join(found)):
                self._weights.setdefault(word, {})[place] = weight

    def search(self, query: str, limit: int) -> list[int]:
        """Return the places of the tools that fit, see `search_tools`."""
        words = set(_words(query))
        scores: dict[int, float] = {}
        for word in words - _STOP_WORDS or words:
            having = self._having(word)
            rarity = math.log(1 + self._count / len(having)) if having else 0.0
            for place, weight in having.items():
                scores[place] = scores.get(place, 0.0) + rarity * weight
        scores.update(dict.fromkeys(self._names.get(query.strip().lower(), ()), math.inf))
        order = sorted(scores, key=lambda place: (-scores[place], place))
        return order[: max(limit, 0)]

    def _having(self, word: str) -> dict[int, float]:
        """Return the tools with a word, as a whole or as the beginning of another."""
        exact = self._weights.get(word, {})
        if len(word) < _MIN_PREFIX_LENGTH:
            return exact
        related: dict[int, float] = {}
        for other, having in self._weights.items():
            is_long = len(other) >= _MIN_PREFIX_LENGTH
            if is_long and (other.startswith(word) or word.startswith(other)):
                for place, weight in having.items():
                    related[place] = max(_PREFIX_SHARE * weight, related.get(place, 0.0))
        return {**related, **exact}


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(_CAMEL.sub(" ", text[:_READ]))]
