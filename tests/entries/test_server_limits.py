"""The limits of a server's calls, in code and in files: F-MANY-19."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcpclient import ServerLimits, load_config
from mcpclient.errors import UsageError
from tests.support.tables import each_row


@each_row(
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
