"""Copies are made of one reading of the package: it is the same for all, and takes a second."""

from __future__ import annotations

import pytest

from mcpclient.vendoring import copying

_read: list[object] = []


@pytest.fixture(autouse=True)
def _read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    if not _read:
        _read.append(copying._Modules())
    monkeypatch.setattr(copying, "_Modules", lambda: _read[0])
