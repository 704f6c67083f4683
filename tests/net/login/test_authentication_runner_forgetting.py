"""F-AUTH-12: errors of a login keep their lines and lose their variables."""

from __future__ import annotations

import asyncio
import traceback
from types import FunctionType
from typing import Any

import pytest

from mcpclient.net.login import authentication
from mcpclient.net.login.authentication import forget_variables


def ours(function: Any) -> Any:
    """Return the function as one of the package."""
    names = {**function.__globals__, "__name__": authentication.__name__}
    return FunctionType(function.__code__, names, closure=function.__closure__)


def variables(error: BaseException) -> list[dict[str, Any]]:
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return [dict(frame.f_locals) for frame in frames]


def fail(secret: str) -> None:
    raise ValueError("no")


def test_frames_of_the_package_lose_their_variables_and_others_keep_theirs() -> None:
    with pytest.raises(ValueError, match="no") as caught:
        ours(fail)("SECRET")
    lines = [entry.lineno for entry in traceback.extract_tb(caught.value.__traceback__)]
    assert variables(caught.value)[-1] == {"secret": "SECRET"}
    forget_variables(caught.value)
    assert variables(caught.value)[-1] == {}
    assert [e.lineno for e in traceback.extract_tb(caught.value.__traceback__)] == lines
    with pytest.raises(ValueError, match="no") as caught:
        fail("mine")
    forget_variables(caught.value)
    assert variables(caught.value)[-1] == {"secret": "mine"}


def test_what_led_to_an_error_is_cleared_as_well_and_circles_end() -> None:
    with pytest.raises(ValueError, match="no") as first:
        ours(fail)("SECRET")
    with pytest.raises(ValueError, match="no") as second:
        ours(fail)("SECRET")
    second.value.__cause__, first.value.__context__ = first.value, second.value
    forget_variables(second.value)
    assert variables(first.value)[-1] == variables(second.value)[-1] == {}


def test_code_that_still_runs_is_left_alone() -> None:
    def caught() -> str:
        secret = "kept"
        try:
            fail(secret)
        except ValueError as error:
            forget_variables(error)
        return secret

    async def waiting() -> str:
        return await asyncio.sleep(0, ours(caught)())

    assert ours(caught)() == "kept"
    assert asyncio.run(waiting()) == "kept"
