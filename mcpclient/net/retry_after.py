"""Points in time that other machines name, as seconds from now."""

from __future__ import annotations

import calendar
import re
import time

__all__ = ["retry_after_seconds"]

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_HTTP_DATE = re.compile(r"\w{3}, (\d\d) (\w{3}) ([1-9]\d{3}) (\d\d):(\d\d):(\d\d) GMT")


def retry_after_seconds(value: str, default: float) -> float:
    """Return how many seconds ``Retry-After`` asks to wait; ``default`` if it is unreadable.

    Source: RFC 9110 section 10.2.3. Of the three date formats, only the one that may still be sent
    is read.
    """
    value = value.strip()
    if value.isdecimal() and len(value) < 9:
        return float(value)
    date = _HTTP_DATE.fullmatch(value)
    if date is None or date[2] not in _MONTHS:
        return default
    day, _, year, hour, minute, second = date.groups()
    month = _MONTHS.index(date[2]) + 1
    moment = calendar.timegm(
        (int(year), month, int(day), int(hour), int(minute), int(second), 0, 0, 0)
    )
    return max(moment - time.time(), 0.0)
