"""Text that UTF-8 can carry: JSON allows halves of surrogate pairs, HTTP requests do not."""

from __future__ import annotations

import re
from typing import Any

LONE_SURROGATES = "\ud800-\udfff"
"""As the inside of a class in a regular expression."""

_LONE = re.compile(f"[{LONE_SURROGATES}]")


def without_surrogates(value: Any) -> Any:
    """Return a JSON value with U+FFFD in place of every half of a surrogate pair, in keys too."""
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_surrogates(item) for item in value]
    return value
