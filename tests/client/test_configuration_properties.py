"""Configurations written by hand: a way to a server, or one plain `UsageError`."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mcpclient.client.connection.limits import DEFAULT, Timeouts
from mcpclient.errors import UsageError
from tests.support.properties import examples
from tests.support.strategies import clean_texts, hostile_json, texts
from tests.tools.fuzz.targets import configuration

NAMES = ["command", "args", "env", "cwd", "url", "headers", "type", "mcpServers", "transport"]
places = st.sampled_from(
    [
        "https://h/mcp",
        "ws://u:p@h",
        "tcp://h:1",
        "unix:///s",
        "http://[",
        "npx",
        "stdio",
        "sse",
        "/",
    ]
)
entries = st.dictionaries(
    st.sampled_from(NAMES),
    places | st.lists(places, max_size=2) | hostile_json(["A", *NAMES]),
    max_size=4,
)


@examples(80)
@given(entries | entries.map(lambda entry: {"mcpServers": {"one": entry}}))
def test_any_configuration_is_used_or_refused(config: dict[str, Any]) -> None:
    """F-API-1: also where a value is of a type that makes no sense there."""
    configuration.target(json.dumps(config).encode())


@examples(40)
@given(texts | places | st.lists(places | clean_texts, max_size=3).map(" ".join))
def test_any_text_is_a_server_or_refused(text: str) -> None:
    """F-API-1: a URL, a script or a command line, or none."""
    configuration.target(text.encode("utf-8", "surrogatepass"))


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
