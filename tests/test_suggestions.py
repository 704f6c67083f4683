"""F-SHOW-19: what was meant by a name that does not exist."""

from __future__ import annotations

import pytest

from mcpclient.suggestions import did_you_mean, there_are, there_is_no


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("comand", ["command", "url"], "did you mean 'command'?"),
        ("HTTPURL", ["httpUrl"], "did you mean 'httpUrl'?"),
        ("zzz", ["command"], ""),
        ("zzz", [], ""),
        ("x" * 100_000, ["x" * 90_000], f"did you mean {'x' * 90_000!r}?"),
    ],
)
def test_a_similar_name_is_offered(name: str, known: list[str], hint: str) -> None:
    """F-WIRE-2: whatever its case, and in bounded time."""
    assert did_you_mean(name, known) == hint


def test_what_stands_before_a_name_is_shown_and_not_compared() -> None:
    assert did_you_mean("ecko", ["echo"], "server.") == "did you mean 'server.echo'?"
    assert did_you_mean("zzz", ["echo"], "server.") == ""


def test_a_name_that_does_not_exist() -> None:
    """F-WIRE-2: the message suggests the likely name, or else lists the valid ones."""
    known = ["echo", "add"]
    assert there_is_no("tool", "ecko", known) == "there is no tool 'ecko'; did you mean 'echo'?"
    assert there_is_no("tool", "zzz", known) == "there is no tool 'zzz'"
    assert there_is_no("tool", "zzz", known, "here", "see help") == (
        "there is no tool 'zzz' here; see help"
    )


def test_the_names_that_there_are() -> None:
    """F-WIRE-2: a bounded number of them."""
    assert there_are([]) == "there are none"
    assert there_are(["echo"]) == "there is only echo"
    assert there_are(iter(["echo", "add"])) == "there are echo, add"
    assert there_are(map(str, range(100))).endswith("18, 19, …")
