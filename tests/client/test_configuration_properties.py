"""Configurations written by hand: a way to a server, or one plain `UsageError`."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mcpclient.client.connection.limits import DEFAULT, Timeouts
from mcpclient.errors import UsageError
from tests.support.properties import examples
from tests.support.strategies import texts


@examples(40)
@given(st.floats() | st.integers(-1, 10**6) | texts | st.sampled_from(["1e400", "nan", " 5 "]))
def test_any_limit_of_the_environment(value: object) -> None:
    """F-API-7: a number of milliseconds that is not negative, or a `UsageError` that names it."""
    try:
        limits = Timeouts.of(DEFAULT, DEFAULT, DEFAULT, 1.0, {"MCP_TOOL_TIMEOUT": str(value)})
    except UsageError as error:
        assert "MCP_TOOL_TIMEOUT" in str(error)
    else:
        assert limits.tool is None or limits.tool > 0
        assert limits.total is not None and limits.total >= (limits.tool or 0)
