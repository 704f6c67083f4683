"""Binary content, told by its bytes."""

from __future__ import annotations

import pytest

from mcpclient.adapters import anthropic, bedrock, google, openai_chat, openai_responses
from mcpclient.adapters.definitions import DefinitionRules


@pytest.mark.parametrize(
    ("rules", "longest", "longest_property", "may_begin_with_digit"),
    [
        (anthropic._API.rules, 128, 64, True),
        (openai_chat._API.rules, 64, 256, True),
        (openai_responses._API.rules, 64, 256, True),
        (google._API.rules, 64, 64, False),
        (bedrock._API.rules, 64, 64, True),
    ],
)
def test_the_names_that_each_api_takes(
    rules: DefinitionRules, longest: int, longest_property: int, may_begin_with_digit: bool
) -> None:
    """F-TOOL-1: neither shortened without need nor too long."""
    assert rules.properties is not None
    for rule, most in ((rules.names, longest), (rules.properties, longest_property)):
        assert (rule.admits("n" * most), rule.admits("n" * (most + 1))) == (True, False)
    assert rules.names.admits("1") == may_begin_with_digit
    assert all(map(rules.names.admits, ("a-b_C9", "_a"))) and not rules.names.admits("a.b")
