"""Cookies of any server are sent back as they were set, there and nowhere else."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from email.utils import format_datetime

from hypothesis import given
from hypothesis import strategies as st

from mcpclient.framing.headers import Headers
from mcpclient.framing.uri import parse_url
from mcpclient.net.cookies import CookieJar
from tests.support.properties import examples
from tests.support.strategies import tokens

HOME = parse_url("https://h.example/a/b")
NOW = 1_000_000_000.0
values = st.text("!az~09/=\xe9", max_size=8)


@examples(40)
@given(st.dictionaries(tokens, values, max_size=5), st.sampled_from(["", "; Path=/", "; secure"]))
def test_cookies_are_sent_back(pairs: dict[str, str], attributes: str) -> None:
    """F-HTTP-14: each once, in the order they were set, whatever they hold."""
    jar = CookieJar(now=lambda: NOW)
    fields = [("Set-Cookie", f"{name}={value}{attributes}") for name, value in pairs.items()]
    jar.store(HOME, Headers(fields))
    expected = "; ".join([f"{name}={value}" for name, value in pairs.items()])
    assert jar.header_for(HOME) == expected


EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@examples(40)
@given(st.integers(-(2**31), 2**33))
def test_any_date_ends_a_cookie(moment: int) -> None:
    """F-HTTP-14: a cookie is sent until the second that its date names."""
    jar = CookieJar(now=lambda: NOW)
    date = format_datetime(EPOCH + timedelta(seconds=moment), usegmt=True)
    jar.store(HOME, Headers([("Set-Cookie", f"a=b; Expires={date}")]))
    assert bool(jar.header_for(HOME)) is (moment > NOW)
