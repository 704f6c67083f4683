"""JSON with comments: what is read, what is refused, and where it stands: F-MANY-7."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Callable

import pytest

from mcpclient.formats.jsonc import JsoncError, parse_jsonc
from tests.support.tables import each_row
from tests.tools.work_counter import WorkCounter, growth

# Four times the size is at most so many times the work; quadratic work would be sixteen times.
MOST = 5.5


REFUSED = {
    "nothing": ("", 1, "the end of the file stands where a value should"),
    "not closed": ('{\n"a": 1', 2, "where , or } should"),
    "NaN": ('{"a":\nNaN}', 2, "'NaN' stands where a value should"),
    "Infinity": ("[-Infinity]", 1, "'-Infinity' stands"),
    "too large a number": ("[1e999]", 1, "is too large"),
    "too long a number": ("[" + "1" * 400 + "]", 1, "a word stands where a value should"),
    "single quotes": ("{'a': 1}", 1, '"\'" stands where a name'),
    "no quotes": ("{a: 1}", 1, "'a' stands where a name"),
    "no colon": ('{"a" 1}', 1, "where : should"),
    "no comma": ('{"a": 1\n"b": 2}', 2, "where , or } should"),
    "two commas": ("[1,,2]", 1, "',' stands"),
    "a lone comma": ("[,]", 1, "',' stands"),
    "a line end in a text": ('["a\nb"]', 1, "is not closed, or contains a control"),
    "an unknown escape": (r'["\x41"]', 1, "an escape that JSON does not have"),
    "half a character": (r'["\ud800"]', 1, "half a character"),
    "an open comment": ('{}\n/* "a"', 2, "a comment is not closed"),
    "something behind": ("{}\n\n{}", 3, "'{' follows the value"),
    "too deep": ("[" * 100_000, 1, "nested more than 100 deep"),
}


@each_row(("text", "line", "reason"), REFUSED.values())
def test_what_is_refused_is_told_with_its_line(text: str, line: int, reason: str) -> None:
    """F-MANY-7: a problem with a line, whatever stands there."""
    with pytest.raises(JsoncError) as caught:
        parse_jsonc(text)
    assert caught.value.line == line
    assert reason in str(caught.value)


def test_a_text_that_may_be_a_secret_is_not_shown() -> None:
    with pytest.raises(JsoncError) as caught:
        parse_jsonc('{"token" ghp_0123456789abcdef}')
    assert "ghp" not in str(caught.value)


@pytest.fixture(scope="module")
def counter() -> Iterator[WorkCounter]:
    with WorkCounter() as counting:
        yield counting


@pytest.mark.parametrize("unit", ['{"a":', "[", "// x\n", '"a",', "/* */", "\\", " "])
def test_the_cost_is_in_proportion(unit: str, counter: WorkCounter) -> None:
    """Also of refused input."""

    def task(counter: WorkCounter, size: int) -> Callable[[], object]:
        jsonc = counter.module("formats.jsonc")

        def work() -> None:
            with pytest.raises(jsonc.JsoncError) as caught:
                jsonc.parse_jsonc("[" + unit * size)
            assert caught.value.line

        return work

    assert growth(task, 400, counter) < MOST
