"""Arguments that a stand-in for a C library is called with."""

from __future__ import annotations

from typing import Any


def pointed_at(argument: Any) -> Any:
    """Return the object that `ctypes.byref` was given."""
    return argument._obj
