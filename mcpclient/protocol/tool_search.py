"""Search for the tools that fit a few words, when there are too many to show them all.

Ranked by the words of a tool's name, title, description and parameters. Nothing is learned or kept:
the same query over the same tools gives the same order.
"""

from __future__ import annotations

import math
import re
from collections import Counter
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
    a word in a name counts more than one in a description. Tools of equal rank stay in their order.
    A name given in full comes first. Empty when no word fits.
    """
    candidates = list(tools)
    words = set(_words(query))
    asked = words - _STOP_WORDS or words
    weights = [_weights_of(tool) for tool in candidates]
    having = Counter(word for weight in weights for word in asked if _weight(word, weight))
    rarity = {word: math.log(1 + len(weights) / count) for word, count in having.items()}
    wanted = query.strip().lower()
    scores = [
        math.inf
        if tool.name.lower() == wanted
        else sum(rare * _weight(word, weight) for word, rare in rarity.items())
        for tool, weight in zip(candidates, weights)
    ]
    order = sorted(range(len(candidates)), key=lambda index: -scores[index])
    return [candidates[index] for index in order if scores[index] > 0][: max(limit, 0)]


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(_CAMEL.sub(" ", text[:_READ]))]


def _weights_of(tool: Tool) -> dict[str, float]:
    """Return the words of a tool, each with the weight of its best place."""
    parameters = object_in(object_in(tool.input_schema).get("properties"))
    texts = [string_at(value, "description") or "" for value in parameters.values()]
    places = [
        (_DESCRIPTION, [tool.description or "", *texts]),
        (_PARAMETER, parameters),
        (_TITLE, [tool.title or ""]),
        (_NAME, [tool.name]),
    ]
    return {word: weight for weight, found in places for word in _words(" ".join(found))}


def _weight(word: str, weights: dict[str, float]) -> float:
    """Return the weight of a query word for a tool, as a whole or as the beginning of another."""
    exact = weights.get(word, 0.0)
    if exact or len(word) < _MIN_PREFIX_LENGTH:
        return exact
    related = [
        weight
        for other, weight in weights.items()
        if len(other) >= _MIN_PREFIX_LENGTH and (other.startswith(word) or word.startswith(other))
    ]
    return _PREFIX_SHARE * max(related, default=0.0)
