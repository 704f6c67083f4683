"""The fixture of tests that run a model's code."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.code.coding import children
from tests.net.process_helpers import wait_until


@pytest.fixture
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check that nothing is left of a test: no process, and no file in the temporary folder."""
    before, folder = children(), tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", os.fspath(folder))
    yield
    # Whoever floods the pipe is killed at once, and then the keeper of the sandbox tidies up.
    wait_until(lambda: children() <= before and not [*folder.iterdir()], "nothing is left")
