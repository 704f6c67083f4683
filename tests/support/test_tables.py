"""A test of many rows names each that fails."""

from __future__ import annotations

import pytest

from tests.support.tables import check_each, each_row


def test_every_row_that_fails_is_named() -> None:
    def check(number: int) -> None:
        assert 6 / number == 2

    with pytest.raises(AssertionError) as caught:
        check_each([3, 2, 0], check)
    first, *_, last = str(caught.value).splitlines()
    assert first.startswith("2: AssertionError: ")
    assert last == "0: ZeroDivisionError: division by zero"
    check_each([3, 3], check)


def test_a_table_is_one_test_that_names_its_faulty_row() -> None:
    @each_row(("half", "whole"), [(1, 2), (2, 5)])
    def check(half: int, whole: int) -> None:
        assert half + half == whole

    with pytest.raises(AssertionError, match=r"^\(2, 5\): AssertionError"):
        check()
