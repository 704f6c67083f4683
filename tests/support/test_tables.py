"""A test of many rows names each that fails."""

from __future__ import annotations

import pytest

from tests.support.tables import check_each


def test_every_row_that_fails_is_named() -> None:
    def check(number: int) -> None:
        assert 6 / number == 2

    with pytest.raises(AssertionError) as caught:
        check_each([3, 2, 0], check)
    first, *_, last = str(caught.value).splitlines()
    assert first.startswith("2: AssertionError: ")
    assert last == "0: ZeroDivisionError: division by zero"
    check_each([3, 3], check)
