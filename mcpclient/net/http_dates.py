"""Dates that servers send in ``Retry-After`` and cookies."""

from __future__ import annotations

import re
import time

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


# Compiled on first use: every client imports this module, and few need to parse a date.
_DATE = r"(?i)\b(\d{1,2})[ -]([a-z]{3})[a-z]*[ -](\d{4}|\d\d) (\d\d?):(\d\d):(\d\d)\b"


def retry_after_seconds(value: str, default: float) -> float:
    """Return the seconds of a ``Retry-After`` (RFC 9110 10.2.3); ``default`` if unreadable."""
    value = value.strip()
    if value.isdecimal() and len(value) < 9:
        return float(value)
    date = http_date(value)
    return default if date is None else max(date - time.time(), 0.0)


def http_date(text: str) -> float | None:
    """Return a date (RFC 6265 section 5.1.1) in seconds since 1970; None for anything else."""
    date = re.search(_DATE, text)
    if date is None or date[2].lower() not in _MONTHS:
        return None
    day, month, year_text, *clock = date.groups()
    year = int(year_text)
    if len(year_text) == 2:
        year += 1900 if year >= 70 else 2000
    hour, minute, second = map(int, clock)
    if not 1 <= int(day) <= 31 or year < 1601 or hour > 23 or minute > 59 or second > 59:
        return None  # step 5
    import calendar

    number = _MONTHS.index(month.lower()) + 1
    return float(calendar.timegm((year, number, int(day), hour, minute, second, 0, 0, 0)))
