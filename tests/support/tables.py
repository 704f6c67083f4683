"""Many rows in one test, where a test for each would take longer than its checks."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Sequence
from typing import Any, Callable, TypeVar

import pytest

Row = TypeVar("Row")


def check_each(rows: Iterable[Row], check: Callable[[Row], object]) -> None:
    """Check every row; what does not hold fails the test together, each with its row."""
    failed = []
    for row in rows:
        try:
            check(row)
        except (Exception, pytest.fail.Exception) as error:
            failed.append(f"{row}: {type(error).__name__}: {error}")
    assert not failed, "\n".join(failed)


def each_row(
    names: str | Sequence[str], rows: Iterable[Any]
) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Make a function one test of all rows, written as for ``pytest.mark.parametrize``.

    It is for functions that need no fixture, and leave nothing for the next row to find.
    """
    words = names.replace(",", " ").split() if isinstance(names, str) else names

    def decorate(check: Callable[..., None]) -> Callable[[], None]:
        @functools.wraps(check)
        def test() -> None:
            each = rows if len(words) > 1 else ((row,) for row in rows)
            check_each(each, lambda row: check(**dict(zip(words, row))))

        test.__signature__ = inspect.Signature()  # type: ignore[attr-defined]
        return test

    return decorate
