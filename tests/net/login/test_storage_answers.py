"""Answers to inputs, kept among the credentials: F-MANY-18."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpclient.net.login.storage import kept_answer


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "credentials.json"
    monkeypatch.setenv("MCPCLIENT_CREDENTIALS", str(path))
    return path


def test_a_store_that_cannot_be_read_has_no_answers(file: Path) -> None:
    file.mkdir()
    assert kept_answer("a") is None
