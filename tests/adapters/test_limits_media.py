"""The names that each API takes."""

from __future__ import annotations

import pytest

from mcpclient.adapters.providers import PROVIDERS
from mcpclient.protocol.types import Tool


@pytest.mark.parametrize(
    ("provider", "longest", "longest_property", "may_begin_with_digit"),
    [
        ("anthropic", 128, 64, True),
        ("openai_chat", 64, 256, True),
        ("openai_responses", 64, 256, True),
        ("google", 64, 64, False),
        ("bedrock", 64, 64, True),
    ],
)
def test_the_names_that_each_api_takes(
    provider: str, longest: int, longest_property: int, may_begin_with_digit: bool
) -> None:
    """F-TOOL-1: neither shortened without need nor too long."""

    def is_kept(name: str, argument: str = "n") -> bool:
        schema = {"type": "object", "properties": {argument: {"type": "string"}}}
        made = PROVIDERS[provider].tools([Tool({"name": name, "inputSchema": schema})])
        return name in made.bindings and f"'{argument}'" in str(made)

    assert (is_kept("n" * longest), is_kept("n" * (longest + 1))) == (True, False)
    for size in (longest_property, longest_property + 1):
        assert is_kept("n", "p" * size) == (size == longest_property)
    assert is_kept("1") == may_begin_with_digit
    assert all(map(is_kept, ("a-b_C9", "_a"))) and not is_kept("a.b")
