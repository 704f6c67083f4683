"""Answers to inputs, kept among the credentials: F-MANY-18."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mcpclient.net.login.storage import FileStore, keep_answer, kept_answer


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "credentials.json"
    monkeypatch.setenv("MCPCLIENT_CREDENTIALS", str(path))
    return path


def test_an_answer_is_kept(file: Path) -> None:
    """F-MANY-18: beside logins, in a private file; an empty one is one too."""
    assert kept_answer("a") is None
    keep_answer("a", "s3cret")
    keep_answer("b", "")
    assert (kept_answer("a"), kept_answer("b"), kept_answer("c")) == ("s3cret", "", None)
    assert asyncio.run(FileStore().load("a")) == {"answer": "s3cret"}


def test_it_is_kept_within_an_event_loop(file: Path) -> None:
    async def main() -> str | None:
        keep_answer("a", "x")
        return kept_answer("a")

    assert asyncio.run(main()) == "x"


def test_another_record_is_not_an_answer(file: Path) -> None:
    file.write_text('{"a": {"answer": 3}, "b": 4}')
    file.chmod(0o600)
    assert (kept_answer("a"), kept_answer("b")) == (None, None)


def test_a_store_that_cannot_be_read_has_no_answers(file: Path) -> None:
    file.mkdir()
    assert kept_answer("a") is None
