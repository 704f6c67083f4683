"""What a server may ask a user, and which answers fit: F-API-10."""

from __future__ import annotations

from mcpclient.protocol.elicitation import (
    content_problem,
)


def test_the_name_of_a_field_is_text() -> None:
    assert content_problem({1: "x"}) is not None  # type: ignore[dict-item]
