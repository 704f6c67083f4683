"""F-MANY-7: a configuration, its servers and its problems as values."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.config.config import Config, ServerConfig
from mcpclient.config.policy.policy import Policy
from mcpclient.errors import UsageError
from mcpclient.gate.gate import Gate


def test_an_explanation_is_found_by_name() -> None:
    config = Config(explanations={"github": "from: here"})
    assert config.explain("github") == "from: here"
    with pytest.raises(UsageError, match=r"no server 'gihub' .*; did you mean 'github'\?"):
        config.explain("gihub")


def test_no_value_is_shown() -> None:
    """F-AUTH-12"""
    server = ServerConfig(
        "a", target=["npx", "SECRET"], options={"env": {"A": "SECRET"}}, raw={"env": "SECRET"}
    )
    assert "SECRET" not in repr(server)
    assert hash(server) == hash(ServerConfig("a"))


def test_empty_options_do_not_hide_those_of_the_mapping() -> None:
    """F-SAFE-2: a policy judges the variables that the mapping sets."""
    entry = {"command": "x", "env": {"NODE_OPTIONS": "-r ./x"}}
    server = ServerConfig("a", target=entry, options={"env": {}, "timeout": None})
    read = server.with_mapping_read()
    assert read.options == {"env": {"NODE_OPTIONS": "-r ./x"}, "timeout": None}
    denied = Gate(Policy(allow=["command:x"])).judge(server)
    assert (denied.state, "NODE_OPTIONS" in denied.reason) == ("denied", True)
    given = ServerConfig("a", target=entry, options={"env": {"A": "b"}})
    assert given.with_mapping_read().options == {"env": {"A": "b"}}


def test_a_string_is_not_a_list_of_patterns() -> None:
    """F-MANY-13: its letters would be, and a ``*`` would let everything through."""
    wrong: Any = "read_*"
    with pytest.raises(UsageError, match="include must be a list of patterns"):
        ServerConfig("a", include=wrong)
    with pytest.raises(UsageError, match="exclude must be a list of patterns"):
        ServerConfig("a", exclude=wrong)


def test_a_setting_of_the_program_comes_before_that_of_the_mapping() -> None:
    """F-MANY-7"""
    entry = {"command": "x", "disabledTools": ["c"]}
    assert ServerConfig("a", target=entry).with_mapping_read().exclude == ("c",)
    server = ServerConfig("a", target=entry, exclude=("b",))
    assert server.with_mapping_read().exclude == ("b",)
