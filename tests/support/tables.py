"""Many rows in one test, where a test for each would take longer than what it checks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Callable, TypeVar

__all__ = ["check_each"]

Row = TypeVar("Row")


def check_each(rows: Iterable[Row], check: Callable[[Row], object]) -> None:
    """Check every row; what does not hold fails the test together, each with its row."""
    failed = []
    for row in rows:
        try:
            check(row)
        except Exception as error:
            failed.append(f"{row}: {type(error).__name__}: {error}")
    assert not failed, "\n".join(failed)
