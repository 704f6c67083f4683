"""F-MANY-7: malformed configurations: a problem with a line, never a traceback, never a process."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from mcpclient.entries.fields import FIELDS
from mcpclient.gate.load import load_config
from tests.support.properties import examples
from tests.support.strategies import json_values
from tests.support.tables import check_each

from .malformed import MALFORMED, Malformed


@pytest.fixture(autouse=True)
def _no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any, **options: Any) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)


def test_there_are_two_hundred() -> None:
    assert len(MALFORMED) >= 200
    assert len({(case.file, case.content) for case in MALFORMED}) == len(MALFORMED)


def test_a_malformed_configuration_is_a_problem_with_a_line(tmp_path: Path) -> None:
    """F-MANY-7: and never costs the servers beside it."""
    cases = enumerate(MALFORMED)
    check_each(cases, lambda case: is_a_problem(case[1], tmp_path / str(case[0])))


def is_a_problem(case: Malformed, folder: Path) -> None:
    path = folder / case.file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(case.content)
    config = load_config(path, env={})
    assert list(config.servers) == (["sound"] if case.sound else [])
    assert config.problems
    for problem in config.problems:
        assert problem.file == str(path)
        assert problem.message
        assert "\n" not in str(problem)
        lines = case.content.count(b"\n") + 1
        assert 1 <= (problem.line or 0) <= lines
    if case.sound:
        assert {problem.server for problem in config.problems} == {"bad"}
        assert "not used" in config.explain("bad")


entries = st.dictionaries(
    st.sampled_from(sorted(FIELDS)) | st.text(max_size=5),
    json_values | st.text(max_size=10) | st.lists(st.text(max_size=5), max_size=3),
    max_size=6,
)


@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.text(max_size=8), entries | json_values, max_size=3))
def test_any_entries_are_servers_or_problems(
    tmp_path_factory: pytest.TempPathFactory, servers: dict[str, Any]
) -> None:
    """F-MANY-7: each name is a server, or has a problem; nothing is passed over."""
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    config = load_config(path, env={})
    told = {problem.server for problem in config.problems if problem.severity == "error"}
    for name in servers:
        assert name in config.servers or name in told or None in told
        assert name not in config.servers or name not in told
    for server in config.servers.values():
        assert config.explain(server.name)
        assert len(server.fingerprint()) == 64
