"""The revisions and their eras: F-LIFE-1 and F-LIFE-2."""

from __future__ import annotations

import pytest

from mcpclient.protocol.negotiation import (
    HANDSHAKE_VERSIONS,
    LATEST_HANDSHAKE,
    LATEST_STATELESS,
    STATELESS_VERSIONS,
    Era,
    best_common,
    era_of,
    is_past_handshakes,
)


def test_the_revisions() -> None:
    """F-LIFE-1, F-LIFE-2: all five, and which is offered first."""
    assert HANDSHAKE_VERSIONS == ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
    assert STATELESS_VERSIONS == ("2026-07-28",)
    assert (LATEST_HANDSHAKE, LATEST_STATELESS) == ("2025-11-25", "2026-07-28")


def test_eras() -> None:
    """F-LIFE-3: every known revision has one, an unknown one has none."""
    assert [era_of(version) for version in HANDSHAKE_VERSIONS] == [Era.HANDSHAKE] * 4
    assert era_of("2026-07-28") is Era.STATELESS
    assert era_of("2026-07-29") is None
    assert era_of("") is None


@pytest.mark.parametrize(
    ("offered", "best"),
    [
        (["2024-11-05", "2025-06-18", "2025-03-26"], "2025-06-18"),
        (["2025-11-25", "2026-07-28"], "2025-11-25"),
        (["2026-07-28"], None),
        ([], None),
        ([None, 1, ["2025-11-25"], {"a": 1}, "2024-11-05"], "2024-11-05"),
    ],
)
def test_the_newest_of_both_sides(offered: list[object], best: str | None) -> None:
    """F-LIFE-3: order in the list is of no weight, and what is no string is passed over."""
    assert best_common(offered, HANDSHAKE_VERSIONS) == best


@pytest.mark.parametrize(
    ("version", "is_past"),
    [
        ("2025-11-25", False),
        ("2026-07-27", False),
        ("2026-07-28", True),
        ("2026-07-28-draft", True),
        ("2027-01-01", True),
        ("DRAFT-2027", False),
        ("", False),
    ],
)
def test_what_comes_after_the_handshakes(version: str, is_past: bool) -> None:
    """F-LIFE-2: such a revision is no handshake session; a name that is no date tells nothing."""
    assert is_past_handshakes(version) is is_past
