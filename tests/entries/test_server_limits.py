"""The limits of a server's calls, in code and in files: F-MANY-19."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from mcpclient import ServerConfig, ServerLimits, load_config
from mcpclient.errors import UsageError
from mcpclient.manager.managed_client import options_for


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"at_once": 0}, "at_once must be a whole number of at least 1, not 0"),
        ({"per_minute": 1.5}, "per_minute must be"),
        ({"breaker": True}, "breaker must be"),
        ({"breaker": "5"}, "breaker must be"),
        ({"breaker_seconds": -1}, "'breaker_seconds' must be a number of seconds, not -1"),
        ({"timeouts": [1]}, "timeouts must be a mapping of patterns to seconds"),
        ({"timeouts": {"slow_*": "5"}}, "'slow_*' must be a number of seconds, not '5'"),
        ({"timeouts": {"slow_*": float("nan")}}, "must be a number of seconds"),
    ],
)
def test_values_that_make_no_sense(given: Any, said: str) -> None:
    """F-MANY-19"""
    with pytest.raises(UsageError) as raised:
        ServerLimits(**given)
    assert said in str(raised.value)


def file_of(tmp_path: Path, **entry: Any) -> Path:
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"a": {"command": "x", **entry}}}))
    return path


def test_an_entry_has_them_as_fields(tmp_path: Path) -> None:
    """F-MANY-19: by either spelling, and shown before the user agrees."""
    limits = ServerLimits(4, 60, 5, timeouts={"slow_*": 300})
    for path in (
        file_of(tmp_path, at_once=4, per_minute=60, breaker=5, timeouts={"slow_*": 300}),
        file_of(tmp_path, atOnce=4, perMinute=60, breaker=5, timeouts={"slow_*": 300}),
    ):
        config = load_config(path)
        assert config.problems == []
        server = config.servers["a"]
        assert server.options["limits"] == limits
        assert server.sheet is not None
        assert any('"per_minute": 60' in line for line in server.sheet.lines())
    entry = {"command": "x", "at_once": 2}
    assert ServerConfig("a", target=entry).with_mapping_read().options["limits"].at_once == 2
    assert mcpclient.connect(entry)._connection.options.limits == ServerLimits(2)


def test_mistakes_in_an_entry_are_problems_of_their_fields(tmp_path: Path) -> None:
    """F-MANY-19, F-MANY-7: and the server is left out, not run without limits."""
    for entry, field in (
        ({"per_minute": 0}, "per_minute"),
        ({"timeouts": {"x": "soon"}}, "timeouts"),
        ({"breaker": 5, "breakerSeconds": -1}, "breakerSeconds"),
        ({"at_once": 2, "timeouts": {"at_once": "soon"}}, "timeouts"),
    ):
        config = load_config(file_of(tmp_path, **entry))
        assert config.servers == {}
        (problem,) = config.problems
        assert (problem.severity, problem.field) == ("error", field)


def test_an_entry_can_only_be_stricter_than_the_program() -> None:
    """F-MANY-19: a project's file lifts no cap."""
    common = ServerLimits(at_once=4, breaker=5, breaker_seconds=60, timeouts={"*": 10})
    own = ServerLimits(at_once=9, per_minute=7, timeouts={"x": 20})
    config = ServerConfig("a", target=["x"], options={"limits": own})
    assert options_for(config, {"limits": common})["limits"] == ServerLimits(
        4, 7, 5, breaker_seconds=60, timeouts={"x": 20, "*": 10}
    )
    assert options_for(config, {})["limits"] == own
    assert own.within(common).timeout_of("x") == 20
