"""Points in time that other machines name: in ``Retry-After`` and in cookies."""

from __future__ import annotations

import calendar
import re
import time
from collections.abc import Iterable

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_HTTP_DATE = re.compile(r"\w{3}, (\d\d) ([A-Z][a-z]{2}) ([1-9]\d{3}) (\d\d):(\d\d):(\d\d) GMT")
_COOKIE_DATE = re.compile(
    r"\b(\d{1,2})[ -]([a-z]{3})[a-z]*[ -](\d{4}|\d\d) (\d\d?):(\d\d):(\d\d)\b", re.IGNORECASE
)


def retry_after_seconds(value: str, default: float) -> float:
    """Return how many seconds ``Retry-After`` asks to wait; ``default`` if it is unreadable.

    Source: RFC 9110 section 10.2.3. Of the three date formats, only the one that may still be sent
    is read.
    """
    value = value.strip()
    if value.isdecimal() and len(value) < 9:
        return float(value)
    date = _HTTP_DATE.fullmatch(value)
    if date is None or date[2].lower() not in _MONTHS:
        return default
    day, month, year, *clock = date.groups()
    return max(_moment(int(year), month, int(day), map(int, clock)) - time.time(), 0.0)


def cookie_date(text: str) -> float | None:
    """Return the date of ``Expires`` in one of the forms that servers write, in seconds since 1970.

    Source: RFC 6265 section 5.1.1. None for anything else.
    """
    date = _COOKIE_DATE.search(text)
    if date is None or date[2].lower() not in _MONTHS:
        return None
    day, month, year_text, *clock = date.groups()
    year = int(year_text)
    if len(year_text) == 2:
        year += 1900 if year >= 70 else 2000
    hour, minute, second = map(int, clock)
    if not 1 <= int(day) <= 31 or year < 1601 or hour > 23 or minute > 59 or second > 59:
        return None  # step 5
    return _moment(year, month, int(day), (hour, minute, second))


def _moment(year: int, month: str, day: int, clock: Iterable[int]) -> float:
    number = _MONTHS.index(month.lower()) + 1
    return float(calendar.timegm((year, number, day, *clock, 0, 0, 0)))
