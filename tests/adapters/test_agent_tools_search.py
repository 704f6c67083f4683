"""Whether tools are searched for or shown."""

from __future__ import annotations

import pytest

from mcpclient.adapters import bedrock
from mcpclient.adapters.agent_tools import SearchRule
from mcpclient.adapters.definitions import ToolDefinitions
from mcpclient.errors import UsageError
from tests.adapters.shapes import tool
from tests.support.tables import each_row


def tools(count: int) -> ToolDefinitions:
    return bedrock.tools([tool({}, f"t{number}") for number in range(count)])


def decided(rule: SearchRule, count: int) -> bool:
    steps = rule.deciding(tools(count))
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return bool(end.value)


@each_row(
    ("search", "context", "count", "applies"),
    [
        (False, 100, 50, False),
        (True, 100, 1, True),
        (5, 100, 5, False),
        (5, 100, 6, True),
        ("3%", 100_000, 50, False),
        ("3%", 50_000, 100, True),
        ("0.5 %", 100_000, 50, True),
    ],
)
def test_the_rule(search: bool | int | str, context: int, count: int, applies: bool) -> None:
    """F-TOOL-9: by number, or by tokens as a share of the model's context."""
    rule = SearchRule(search, context)
    assert decided(rule, count) is applies
    assert rule.is_possible is (search is not False)


def test_the_first_decision_counts() -> None:
    """F-TOOL-9: once there is something to decide about."""
    rule = SearchRule(2, 0)
    assert [decided(rule, count) for count in (0, 3, 1)] == [False, True, True]


@each_row(("search", "context"), [("3", 100), ("lots", 100), ("-3%", 1), ("3%", 0)])
def test_what_is_not_a_share(search: str, context: int) -> None:
    """F-TOOL-9"""
    with pytest.raises(UsageError, match='search takes a share of the context such as "3%"'):
        SearchRule(search, context)
