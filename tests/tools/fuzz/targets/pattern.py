"""Regular expressions of a schema: the pattern in the first line, the text after it.

Where Python's ``re`` reads the same grammar, both must find the same.
"""

from __future__ import annotations

import re

from mcpclient.protocol.schema.pattern_syntax import PatternError
from mcpclient.protocol.schema.patterns import Pattern

from ..inputs import lines_of

MAX_STATES = 2_000
MAX_STEPS = 200_000

# What both dialects read the same way: no escapes, no groups with flags, no counts, no brackets
# inside of brackets. Short, because re may take exponential time.
SHARED = re.compile(r"(?:[a-z .|()*+]|\[\^?[a-z]+\]){0,12}")


class TooManySteps(Exception):
    pass


def target(data: bytes) -> None:
    text, subject = lines_of(data, 2)
    steps = 0

    def spend(more: int) -> None:
        nonlocal steps
        steps += more
        if steps > MAX_STEPS:
            raise TooManySteps

    try:
        pattern = Pattern(text, MAX_STATES)
        found = pattern.search(subject, spend)
    except (PatternError, TooManySteps):
        return
    assert pattern.size <= MAX_STATES
    if SHARED.fullmatch(text) and len(subject) < 20 and not set(subject) & set("\r\u2028\u2029"):
        assert found is (re.search(text, subject) is not None)
