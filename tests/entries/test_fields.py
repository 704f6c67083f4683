"""The tables of fields."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.entries.entry import READERS
from mcpclient.entries.fields import (
    FIELDS,
    IGNORED,
    RESTRICTIVE,
    TRANSPORT_NAMES,
    is_comment,
    restrictions_in,
)


def test_every_field_has_a_reader_and_one_meaning() -> None:
    assert {field.kind for field in FIELDS.values()} <= READERS.keys()
    assert {field.side for field in FIELDS.values()} == {"stdio", "remote", "both"}
    assert not FIELDS.keys() & IGNORED
    assert all(name == name.lower() for name in TRANSPORT_NAMES)


def test_comments_in_disguise() -> None:
    assert all(map(is_comment, ("_comment", "$schema", "//", "// a", "x-note", "comment")))
    assert not any(map(is_comment, ("comand", "xcommand", "command")))


def test_a_field_restricts_or_is_harmless() -> None:
    """F-SAFE-3: none is in two of the tables."""
    assert not RESTRICTIVE & IGNORED
    assert not RESTRICTIVE & FIELDS.keys()


@pytest.mark.parametrize(
    ("entry", "restricts"),
    [
        ({"sandbox": True}, True),
        ({"sandbox": {}}, True),
        ({"sandbox": {"enabled": True, "network": False}}, True),
        ({"sandbox": {"enabled": False}}, False),
        ({"sandboxEnabled": False}, False),
        ({"sandbox_mode": "read-only"}, True),
        ({"sandbox_mode": None}, False),
        ({"network": False}, True),
        ({"network": {"allow": []}}, True),
        ({"network": True}, False),
        ({"readOnly": 1}, True),
        ({"permissions": []}, True),
        ({"approval_mode": "auto"}, False),
        ({"approval_mode": "prompt"}, True),
        ({"autoApprove": ["*"]}, False),
    ],
)
def test_what_restricts(entry: dict[str, Any], restricts: bool) -> None:
    """F-SAFE-3: what is switched off forbids nothing; any other value does."""
    assert restrictions_in(entry) == (entry if restricts else {})
