"""Dates of other machines: F-HTTP-14 (cookies)."""

from __future__ import annotations

import time

import pytest

from mcpclient.net.http_dates import http_date

# Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110, section 5.6.7.
EXAMPLE = 784_111_777.0


@pytest.fixture(autouse=True)
def _stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: EXAMPLE)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Sun, 06 Nov 1994 08:49:37 GMT", EXAMPLE),
        ("Sunday, 06-Nov-94 08:49:37 GMT", EXAMPLE),
        ("Thu, 1 jan 1970 0:00:01 GMT", 1.0),
        ("Fri, 01-Jan-38 00:00:00 GMT", 2_145_916_800.0),
        ("Sun, 06 Foo 1994 08:49:37 GMT", None),
        ("Wed, 00 Nov 1994 08:49:37 GMT", None),
        ("Sun, 32 Nov 1994 08:49:37 GMT", None),
        ("Sun, 06 Nov 0000 08:49:37 GMT", None),
        ("Sun, 06 Nov 1600 08:49:37 GMT", None),
        ("Mon, 01 Jan 1601 00:00:00 GMT", -11_644_473_600.0),
        ("Sun, 06 Nov 1994 24:49:37 GMT", None),
        ("Sun, 06 Nov 1994 08:60:37 GMT", None),
        ("Sun, 06 Nov 1994 08:49:60 GMT", None),
        ("never", None),
    ],
)
def test_dates_of_cookies(text: str, seconds: float | None) -> None:
    """F-HTTP-14: in the forms that servers write; anything else is not a date."""
    assert http_date(text) == seconds
