"""F-SHOW-10: what is nested too deeply is shown as far as it can be."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpclient.inspector.board import with_limited_depth


def nested(levels: int, inside: Any) -> Any:
    value = inside
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


@pytest.mark.parametrize("inside", [1, "text", [], {}, None])
@pytest.mark.parametrize("levels", [0, 1, 5])
def test_what_is_not_deep_stays_itself(levels: int, inside: Any) -> None:
    value = nested(levels, inside)
    assert with_limited_depth(value, 5) is value


@pytest.mark.parametrize("levels", [6, 7, 100_000])
def test_what_is_too_deep_is_a_text(levels: int) -> None:
    value: Any = [1, {"deep": nested(levels, "end"), "b": [2]}]
    shown = with_limited_depth(value, 5)
    text = json.dumps(shown)
    assert "nested too deeply" in text
    assert "end" not in text
    assert (shown[0], shown[1]["b"]) == (1, [2])
    assert with_limited_depth(shown, 5) is shown
    while isinstance(value, (list, dict)) and value:  # or it would be freed recursively
        value = value.pop() if isinstance(value, list) else value.popitem()[1]
