"""Text that UTF-8 can carry."""

from __future__ import annotations

import json

from hypothesis import given

from mcpclient.adapters.limits import without_surrogates
from tests.support.strategies import hostile_json


@given(hostile_json({"a"}))
def test_any_value_can_be_sent(value: object) -> None:
    """F-TOOL-3."""
    json.dumps(without_surrogates(value), ensure_ascii=False).encode()
