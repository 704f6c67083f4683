"""Fixtures for the tests of faults."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of servers' files; short, as the paths of sockets have to be."""
    return tmp_path_factory.mktemp("faults")
