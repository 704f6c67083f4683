"""F-MANY-7: a configuration, its servers and its problems as values."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.config.config import Config, Problem, ServerConfig
from mcpclient.config.policy.policy import Policy
from mcpclient.errors import UsageError
from mcpclient.gate.gate import Gate


def test_an_explanation_is_found_by_name() -> None:
    config = Config(explanations={"github": "from: here"})
    assert config.explain("github") == "from: here"
    with pytest.raises(UsageError, match=r"no server 'gihub' .*; did you mean 'github'\?"):
        config.explain("gihub")


def test_a_new_configuration_is_empty() -> None:
    config = Config()
    assert (config.servers, config.problems, config.sources) == ({}, [], [])


def test_a_problem_says_where_and_what_to_do() -> None:
    """F-MANY-7: file, line, server, field, hint."""
    problem = Problem("warning", "is odd", "/p/.mcp.json", 3, "github", "env.A", "write it so")
    assert str(problem) == "/p/.mcp.json:3: warning: github.env.A: is odd (write it so)"
    assert str(Problem("error", "is not JSON", "/p/.mcp.json")) == (
        "/p/.mcp.json: error: is not JSON"
    )


RAW = {"command": "npx", "args": ["-y", "a"], "env": {"A": "${A}", "B": "b"}, "cwd": "x"}


def written(raw: Any, **fields: Any) -> str:
    return ServerConfig("a", raw=raw, **fields).fingerprint()


def test_neither_space_nor_order_changes_the_fingerprint() -> None:
    """F-MANY-7: it covers the entry as written."""
    swapped = {key: RAW[key] for key in reversed(RAW)}
    assert written(RAW) == written(swapped, target=["other"], options={"env": {"A": "value"}})
    assert len(written(RAW)) == 64


def test_everything_else_changes_the_fingerprint() -> None:
    others = [
        {**RAW, "args": ["a", "-y"]},
        {**RAW, "args": ["-y a"]},
        {**RAW, "env": {"A": "${A}"}},
        {**RAW, "env": {"A": "${A}", "B": 1}},
        {**RAW, "cwd": "y"},
        {**RAW, "envFile": ".env"},
        {**RAW, "headers": {}},
    ]
    assert len({written(raw) for raw in [RAW, *others]}) == len(others) + 1


def test_a_server_made_in_code_is_known_by_target_and_options() -> None:
    """F-MANY-6: same name and configuration."""
    one = ServerConfig("a", target=["npx", "b"], options={"env": {"A": "b"}})
    same = ServerConfig("a", target=("npx", "b"), options={"env": {"A": "b"}})
    other = ServerConfig("a", target=["npx", "b"], options={"env": {"A": "c"}})
    assert one.fingerprint() == same.fingerprint() != other.fingerprint()
    assert ServerConfig("a", target=object()).fingerprint()  # type: ignore[arg-type]


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
