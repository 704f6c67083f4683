"""F-AUTH-12: errors of a login keep their lines and lose their variables."""

from __future__ import annotations

import traceback
from types import FunctionType
from typing import Any

import pytest

from mcpclient.net.login import authentication
from mcpclient.net.login.static import forget_variables


def ours(function: Any) -> Any:
    """Return the function as one of the package."""
    names = {**function.__globals__, "__name__": authentication.__name__}
    return FunctionType(function.__code__, names, closure=function.__closure__)


def variables(error: BaseException) -> list[dict[str, Any]]:
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return [dict(frame.f_locals) for frame in frames]


def fail(secret: str) -> None:
    raise ValueError("no")


def test_what_led_to_an_error_is_cleared_as_well_and_circles_end() -> None:
    with pytest.raises(ValueError, match="no") as first:
        ours(fail)("SECRET")
    with pytest.raises(ValueError, match="no") as second:
        ours(fail)("SECRET")
    second.value.__cause__, first.value.__context__ = first.value, second.value
    forget_variables(second.value)
    assert variables(first.value)[-1] == variables(second.value)[-1] == {}
