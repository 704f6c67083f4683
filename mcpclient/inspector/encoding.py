"""JSON for the page, which has no NaN and no infinities."""

from __future__ import annotations

import json
import math
from typing import Any

# ASCII, as UTF-8 has no lone surrogates.
_encode_finite = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def encode(value: Any) -> str:
    """Return a value as JSON; NaN and the infinities as strings that the page knows."""
    try:
        return _encode_finite(value)
    except ValueError:
        return _encode_finite(_with_marks(value))


def _with_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_marks(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_marks(item) for item in value]
    is_finite = not isinstance(value, float) or math.isfinite(value)
    return value if is_finite else f"\ue000{json.dumps(value)}"
