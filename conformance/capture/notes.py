"""The notes that a driver in Python prints of its user."""

from __future__ import annotations

import json
import time
from typing import Any


def note(facts: dict[str, Any]) -> None:
    """Print a line, with the clock that the taps use."""
    print(json.dumps({"ns": str(time.monotonic_ns()), **facts}), flush=True)
