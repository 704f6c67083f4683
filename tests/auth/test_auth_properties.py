"""Servers' words about authorization: read as it was meant, or refused; nothing else is raised.

The documents, tokens, URLs and challenges of an adversary meet ``tests/tools/fuzz/targets``.
"""

from __future__ import annotations

import json
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.auth.effects import Response
from mcpclient.auth.tokens import (
    Challenge,
    TokenSet,
    parse_challenges,
    parse_token_response,
    token_set,
)
from mcpclient.auth.url_guard import UrlPolicy, assert_safe_url, forbidden_reason
from mcpclient.errors import SsrfError
from mcpclient.framing.browser_url import parse_canonical_ipv4
from tests.support.properties import examples
from tests.support.strategies import tokens

POLICY = UrlPolicy()

latin_texts = st.text(st.characters(max_codepoint=255), max_size=15)
parameters = st.dictionaries(tokens.map(str.lower), latin_texts, max_size=3)
challenges = st.lists(st.tuples(tokens, parameters), max_size=3)


def written(scheme: str, parameters: dict[str, str]) -> str:
    pairs = [
        '{}="{}"'.format(name, value.replace("\\", "\\\\").replace('"', '\\"'))
        for name, value in parameters.items()
    ]
    return f"{scheme} {', '.join(pairs)}"


@examples(40)
@given(challenges, st.booleans())
def test_challenges_are_read_as_they_were_written(expected: list[Challenge], joined: bool) -> None:
    """F-AUTH-1: in one field or in several, with anything in the quotes."""
    fields = [written(*challenge) for challenge in expected]
    assert parse_challenges([", ".join(fields)] if joined else fields) == expected


@examples(60)
@given(st.integers(0, 2**32 - 1) | st.sampled_from([127 << 24, 10 << 24, 0xA9FEA9FE, 0, 2**32 - 1]))
def test_addresses_of_other_machines_inside_never_pass(number: int) -> None:
    """F-AUTH-10: of what Python calls not global, nothing passes, however it is spelled."""
    address = IPv4Address(number)
    spellings = [str(address), str(number), hex(number), f"[::ffff:{address}]", f"{address}."]
    if not address.is_global:
        assert forbidden_reason(address) is not None
        for spelling in spellings:
            with pytest.raises(SsrfError):
                assert_safe_url(f"https://{spelling}/", None, POLICY)
    assert parse_canonical_ipv4(str(number)) == number
    assert forbidden_reason(IPv6Address(f"::ffff:{address}")) is not None


token_texts = st.text("!az~09-._", min_size=1, max_size=12)
lifetimes = st.integers(1, 10**9) | st.floats(0.001, 1e9)


@examples(40)
@given(token_texts, st.sampled_from(["Bearer", "bearer", "DPoP"]), lifetimes, st.booleans())
def test_a_token_is_kept_as_it_came(token: str, kind: str, lifetime: float, as_form: bool) -> None:
    """F-AUTH-5: as JSON or as a form; it is renewed before it ends, and a store changes nothing."""
    fields = {"access_token": token, "token_type": kind, "expires_in": lifetime}
    body = urlencode(fields) if as_form else json.dumps(fields)
    content_type = "application/x-www-form-urlencoded" if as_form else "application/json"
    response = Response(200, [("Content-Type", content_type)], body.encode())
    found = token_set(parse_token_response(response, []), 1000.0, None)
    assert (found.access_token, found.token_type.lower()) == (token, kind.lower())
    assert found.renew_at is not None and found.expires_at is not None
    assert 1000.0 < found.renew_at <= found.expires_at
    assert found.has_expired(found.expires_at) and not found.has_expired(1000.0)
    assert TokenSet.from_record(json.loads(json.dumps(found.to_record()))) == found
