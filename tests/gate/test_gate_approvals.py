"""F-MANY-7: which servers of project files the user has agreed to."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mcpclient.config.config import ServerConfig
from mcpclient.gate.gate import Approvals


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "deep" / "approvals.json"


@pytest.fixture
def server(tmp_path: Path) -> ServerConfig:
    return ServerConfig(
        "github", "project", str(tmp_path / ".mcp.json"), ["npx"], raw={"command": "npx"}
    )


def asked(answer: bool, seen: list[str]) -> Callable[[ServerConfig], bool]:
    def ask(server: ServerConfig) -> bool:
        seen.append(server.name)
        return answer

    return ask


def test_an_agreement_is_remembered(store: Path, server: ServerConfig) -> None:
    """F-MANY-7"""
    seen: list[str] = []
    assert Approvals(asked(True, seen), store).confirm(server)
    again = Approvals(asked(False, seen), store)
    assert again.confirm(server)
    assert again.is_approved(server)
    assert seen == ["github"]


def test_a_refusal_is_remembered_only_here(store: Path, server: ServerConfig) -> None:
    seen: list[str] = []
    approvals = Approvals(asked(False, seen), store)
    assert not approvals.confirm(server)
    assert not approvals.confirm(server)
    assert seen == ["github"]
    assert not store.exists()
    assert Approvals(asked(True, seen), store).confirm(server)


def test_without_anyone_to_ask_nothing_is_approved(store: Path, server: ServerConfig) -> None:
    """F-MANY-7: no terminal, no approval."""
    approvals = Approvals(store=store)
    assert not approvals.confirm(server)
    approvals.approve(server)
    assert approvals.confirm(server)
    approvals.revoke(server)
    assert not approvals.is_approved(server)


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_the_real_path_counts(store: Path, server: ServerConfig, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    approvals = Approvals(store=store)
    approvals.approve(server)
    assert approvals.is_approved(replace(server, source=str(tmp_path / "link" / ".mcp.json")))


def test_another_name_file_or_entry_asks_again(
    store: Path, server: ServerConfig, tmp_path: Path
) -> None:
    """F-MANY-7: by real path, name and the entry as written."""
    approvals = Approvals(store=store)
    approvals.approve(server)
    for other in (
        replace(server, raw={"command": "npx", "env": {}}),
        replace(server, name="gitlab"),
        replace(server, source=str(tmp_path / "other" / ".mcp.json")),
    ):
        assert not approvals.is_approved(other)


CORRUPT = [
    *("", "{", "[]", "[" * 100_000, '{"version": 1}', '{"version": 1, "approved": {}}'),
    *('{"version": 1, "approved": [1]}', '{"version": 2, "approved": ["KEY"]}'),
    '{"approved": ["KEY"]}',
]


@pytest.mark.parametrize("content", CORRUPT, ids=range(len(CORRUPT)))
def test_a_corrupt_store_approves_nothing(store: Path, server: ServerConfig, content: str) -> None:
    """F-MANY-7"""
    approvals = Approvals(store=store)
    approvals.approve(server)
    key = json.loads(store.read_text())["approved"][0]
    store.write_text(content.replace("KEY", key))
    assert not approvals.is_approved(server)
    approvals.approve(server)
    assert approvals.is_approved(server)


@pytest.mark.skipif(os.name != "posix", reason="needs permissions")
def test_a_store_that_others_may_change_approves_nothing(store: Path, server: ServerConfig) -> None:
    approvals = Approvals(store=store)
    approvals.approve(server)
    store.chmod(0o666)
    assert not approvals.is_approved(server)
    approvals.approve(server)
    assert stat.S_IMODE(store.stat().st_mode) == 0o600
    assert approvals.is_approved(server)
