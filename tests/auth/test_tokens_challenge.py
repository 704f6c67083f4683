from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.auth.tokens import Challenge, parse_challenges, read_challenge
from tests.support.properties import examples

METADATA = "https://mcp.example/.well-known/oauth-protected-resource"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (["Bearer"], [("Bearer", {})]),
        (['Bearer realm="x"'], [("Bearer", {"realm": "x"})]),
        (
            ['Bearer realm="a, b", error=invalid_token , Scope = "x y"'],
            [("Bearer", {"realm": "a, b", "error": "invalid_token", "scope": "x y"})],
        ),
        (
            ['Basic realm="a", Bearer scope="x", DPoP algs="ES256 RS256"'],
            [
                ("Basic", {"realm": "a"}),
                ("Bearer", {"scope": "x"}),
                ("DPoP", {"algs": "ES256 RS256"}),
            ],
        ),
        (["Negotiate", "NTLM abc+/==, Bearer"], [("Negotiate", {}), ("NTLM", {}), ("Bearer", {})]),
        (["Negotiate YII, Bearer a=1"], [("Negotiate", {}), ("Bearer", {"a": "1"})]),
        (["Negotiate, Basic"], [("Negotiate", {}), ("Basic", {})]),
        ([r'Bearer realm="say \"hi\" \\ ok"'], [("Bearer", {"realm": r'say "hi" \ ok'})]),
        (['Bearer realm=""'], [("Bearer", {"realm": ""})]),
        ([", ,Bearer a=1,,b=2,"], [("Bearer", {"a": "1", "b": "2"})]),
        (["Bearer a=1, a=2"], [("Bearer", {"a": "1"})]),
        (
            [f"Bearer resource_metadata={METADATA}, scope=x"],
            [("Bearer", {"resource_metadata": METADATA, "scope": "x"})],
        ),
        (['Bearer a="open, b=2'], [("Bearer", {})]),
        (['realm="early", Bearer a=1'], [("Bearer", {"a": "1"})]),
        (["{}, Bearer a=1"], [("Bearer", {"a": "1"})]),
        ([""], []),
        ([], []),
    ],
)
def test_challenges_follow_the_grammar(fields: list[str], expected: list[Challenge]) -> None:
    """F-AUTH-1: RFC 9110 section 11.6.1, many challenges in one field and in several."""
    assert parse_challenges(fields) == expected


def test_a_field_is_read_up_to_a_limit() -> None:
    """F-AUTH-1: no server has more to say than 16 KiB."""
    field = "Bearer " + "a=1," * 4000
    assert read_challenge([field + "scope=x"]).scopes == ("x",)
    assert read_challenge([field + "a=1," * 200 + "scope=x"]).scopes is None


def test_bearer_and_dpop_are_read_together() -> None:
    """F-AUTH-1: other schemes are not OAuth's, and the first of each parameter counts."""
    challenge = read_challenge(
        [
            'Basic scope="not this"',
            f'bearer resource_metadata="{METADATA}", error="invalid_token"',
            'DPoP scope="a b a", error="other"',
        ]
    )
    assert challenge.resource_metadata == METADATA
    assert challenge.scopes == ("a", "b")
    assert challenge.error == "invalid_token"
    assert not challenge.dpop_only


def test_dpop_alone_is_told() -> None:
    """F-AUTH-7: a server that offers nothing but DPoP gets DPoP."""
    assert read_challenge(['DPoP algs="ES256"']).dpop_only
    assert read_challenge(["Basic", "dpop"]).dpop_only
    assert not read_challenge(["Basic"]).dpop_only


def test_no_scope_differs_from_an_empty_one() -> None:
    """F-AUTH-4: only an absent scope falls back to the metadata."""
    assert read_challenge(["Bearer"]).scopes is None
    assert read_challenge(['Bearer scope=""']).scopes == ()


@examples(60)
@given(st.text(alphabet='abB =",\\\t:/', max_size=80))
def test_nothing_a_server_sends_raises(text: str) -> None:
    """F-AUTH-1: hostile header fields are read as far as they make sense."""
    parse_challenges([text, "Bearer " + text])


def test_an_endless_field_is_cut() -> None:
    """F-AUTH-1: bounded work for a field of a megabyte."""
    assert len(parse_challenges(['a="' * 400_000])) < 20_000
