"""One timer for all calls: it goes off in time, and not while a human is asked."""

from __future__ import annotations

import math
from typing import Any

import pytest

from mcpclient.client.connection.limits import DEFAULT, Seconds, Timeouts
from mcpclient.errors import UsageError

pytestmark = pytest.mark.virtual_time


def timeouts(close: float = 5.0, **environ: str) -> Timeouts:
    return Timeouts.of(DEFAULT, DEFAULT, DEFAULT, close, environ)


@pytest.mark.parametrize("value", [None, -1, math.nan, "5"])
def test_closing_has_a_limit(value: Any) -> None:
    """F-LIFE-6: closing is bounded; 0 leaves it no time at all."""
    with pytest.raises(UsageError, match="close_timeout is a number of seconds"):
        timeouts(close=value)
    assert timeouts(close=0).close == 0


@pytest.mark.parametrize("value", ["-1", "nan", "five", "1 s"])
def test_a_limit_of_the_environment_that_is_not_one(value: str) -> None:
    """F-API-7: the variable is named."""
    with pytest.raises(UsageError, match="MCP_TOOL_TIMEOUT"):
        timeouts(MCP_TOOL_TIMEOUT=value)


def test_no_call_ends_before_a_limit_of_the_environment() -> None:
    """F-API-7: one that is longer than all of a call may take makes that longer; 0 is none."""
    for limits in (timeouts(MCP_TIMEOUT=" 1e6 "), timeouts(MCP_TOOL_TIMEOUT=" 1e6 ")):
        assert (limits.tool, limits.total) == (1000.0, 1000.0)
    assert timeouts(MCP_TOOL_TIMEOUT="0").tool is None


def test_limits_of_one_call() -> None:
    """F-API-7: tools have an idle limit of their own, and each call may have others."""
    limits = timeouts(MCP_TIMEOUT="1000", MCP_TOOL_TIMEOUT="2000")

    def of(method: str, timeout: Seconds, max_timeout: Seconds) -> tuple[Any, Any]:
        options = limits.for_call(method, timeout, max_timeout)
        return options.timeout, options.max_timeout

    for _ in range(2):
        assert of("tools/list", DEFAULT, DEFAULT) == (1.0, 600.0)
    assert of("tools/call", DEFAULT, DEFAULT) == (2.0, 600.0)
    assert of("tools/call", 7, 8) == (7, 8)
    assert of("tools/call", None, 0) == (None, None)
