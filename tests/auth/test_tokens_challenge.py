from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mcpclient.auth.tokens import parse_challenges
from tests.support.properties import examples


@examples(60)
@given(st.text(alphabet='abB =",\\\t:/', max_size=80))
def test_nothing_a_server_sends_raises(text: str) -> None:
    """F-AUTH-1: hostile header fields are read as far as they make sense."""
    parse_challenges([text, "Bearer " + text])
