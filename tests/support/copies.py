"""Copies of the package for tests, made of one reading of it, which takes a second."""

from __future__ import annotations

from functools import cache

import pytest

from mcpclient.vendoring import copying

_once = cache(copying._Modules)


def read_package_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have copies made from the reading of the first one."""
    monkeypatch.setattr(copying, "_Modules", _once)
