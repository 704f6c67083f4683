"""What other machines date: F-HTTP-7 (Retry-After), F-HTTP-14 (cookies)."""

from __future__ import annotations

import time
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.net.clocks import http_date, retry_after_seconds
from tests.support.properties import examples

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

# Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110, section 5.6.7.
EXAMPLE = 784_111_777.0


@pytest.fixture(autouse=True)
def _stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: EXAMPLE)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        (" 5 ", 5.0),
        ("99999999", 99_999_999.0),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 0.0),
        ("Sun, 06 Nov 1994 08:50:37 GMT", 60.0),
        ("Mon, 07 Nov 1994 08:49:37 GMT", 86_400.0),
        ("Sun, 06 Nov 1994 08:49:00 GMT", 0.0),
        ("Sunday, 06-Nov-94 08:50:37 GMT", 60.0),
    ],
)
def test_seconds_and_dates(value: str, seconds: float) -> None:
    """F-HTTP-7: a number of seconds or an HTTP date; what is past means now."""
    assert retry_after_seconds(value, 7.0) == seconds


@pytest.mark.parametrize(
    "value",
    [
        "",
        "soon",
        "-5",
        "1.5",
        "1" * 500,
        "Sun, 06 Foo 1994 08:49:37 GMT",
        "Thu, 01 Jan 0000 00:00:00 GMT",
        "1994-11-06T08:49:37Z",
    ],
)
def test_anything_else_says_nothing(value: str) -> None:
    """F-HTTP-7: the default stands in."""
    assert retry_after_seconds(value, 7.0) == 7.0


@given(st.from_regex(r"\w{3}, \d\d (Jan|Feb|Dec|Foo) \d{4} \d\d:\d\d:\d\d GMT|\d+", fullmatch=True))
@examples(60)
def test_no_value_makes_it_raise(value: str) -> None:
    """F-HTTP-7: whatever a server sends, there is a time to wait, and it is not negative."""
    assert retry_after_seconds(value, 7.0) >= 0


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
    """F-HTTP-14: in the forms that servers write; anything else is no date."""
    assert http_date(text) == seconds


def test_every_month_has_a_name() -> None:
    """F-HTTP-14: in English, whatever the language of the machine."""
    names = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"
    for month, name in enumerate(names.split(), start=1):
        expected = datetime(2033, month, 6, 8, 49, 37, tzinfo=timezone.utc)
        assert http_date(f"Sunday, 06-{name}-33 08:49:37 GMT") == expected.timestamp()
