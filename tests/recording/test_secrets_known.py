"""Known secrets are found wherever they stand in a string."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mcpclient.recording.secrets import KnownSecrets
from tests.support.properties import examples
from tests.support.tables import each_row


def known(*secrets: str) -> KnownSecrets:
    found = KnownSecrets()
    for index, secret in enumerate(secrets):
        found.add(secret, f"<{index}>")
    return found


@each_row(
    ("secrets", "text", "shown"),
    [
        (["long-s3cret"], "along-s3cretx long-s3cret", "a<0>x <0>"),
        (["long-s3cret", "long-s3cret-too"], "long-s3cret-too long-s3cret", "<1> <0>"),
        (["hunter2"], "hunter2, xhunter2 hunter23 'hunter2'", "<0>, xhunter2 hunter23 '<0>'"),
        (["pass"], "compass pass; compass", "compass <0>; compass"),
        (["abc", ""], "abc", "abc"),
        (["a b/é-s3cret"], "a+b%2F%C3%A9-s3cret", "<0>"),
        (['quo"ted-s3cret'], r"quo\"ted-s3cret", "<0>"),
        (["x" * 3000], "x" * 2999 + "y " + "x" * 5000 + ".", "<0> <0>"),
        ([f"together-{index}" for index in range(20)], "of together-30, all", "of <0>, all"),
        (["pass", "password-1"], "pass password-1 pass", "<0> <1> <0>"),
        ([], "nothing", "nothing"),
    ],
)
def test_found(secrets: list[str], text: str, shown: str) -> None:
    """F-AUTH-12: also spelled for a URL, a form or JSON; a short one as a word of its own."""
    assert known(*secrets).replaced_in(text) == shown


def test_many_are_found_as_few_are() -> None:
    """F-AUTH-12"""
    secrets = [f"{index:04}-s3cret" for index in range(500)]
    assert known(*secrets).replaced_in("a 0007-s3cret b 0499-s3cret") == "a <7> b <499>"


@examples(80)
@given(st.lists(st.text("ab", min_size=8, max_size=14), min_size=1, max_size=6), st.text("ab"))
def test_none_is_left(secrets: list[str], text: str) -> None:
    """F-AUTH-12: whatever stands around it."""
    shown = known(*secrets).replaced_in(f"{text}{secrets[0]}{text}")
    assert all(secret not in shown for secret in secrets)
