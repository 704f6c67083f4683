"""Text that UTF-8 can carry."""

from __future__ import annotations

import json

from hypothesis import given

from mcpclient.adapters.limits import without_surrogates
from tests.support.strategies import hostile_json


def test_halves_of_pairs_are_replaced_everywhere() -> None:
    """F-TOOL-3."""
    value = {"k\udfff": ["a\ud800b", 1, None, {"x": "\U0001f600"}]}
    assert without_surrogates(value) == {"k\ufffd": ["a\ufffdb", 1, None, {"x": "\U0001f600"}]}


@given(hostile_json({"a"}))
def test_any_value_can_be_sent(value: object) -> None:
    """F-TOOL-3."""
    json.dumps(without_surrogates(value), ensure_ascii=False).encode()
