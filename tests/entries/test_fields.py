"""F-MANY-7: the tables of fields."""

from __future__ import annotations

from typing import Any, get_args

from mcpclient.entries.entry import READERS
from mcpclient.entries.fields import (
    FIELDS,
    IGNORED,
    NAMING_STYLES,
    RESTRICTIVE,
    TRANSPORT_NAMES,
    NamingStyle,
    is_comment,
    restrictions_in,
)
from mcpclient.manager.naming import ToolNames
from tests.support.tables import each_row


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


@each_row(
    ("entry", "restricts"),
    [
        *(({"sandbox": True}, True), ({"sandbox": {}}, True), ({"sandbox": False}, False)),
        ({"sandbox": {"enabled": True, "network": False}}, True),
        ({"sandbox": {"enabled": False}}, False),
        ({"sandbox": {"network": False}, "sandboxEnabled": False}, False),
        *(({"sandbox_mode": "read-only"}, True), ({"sandbox_mode": None}, False)),
        *(({"network": False}, True), ({"network": {}}, True), ({"network": True}, False)),
        *(({"readOnly": 1}, True), ({"permissions": []}, True), ({"approval_mode": "auto"}, False)),
    ],
)
def test_what_restricts(entry: dict[str, Any], restricts: bool) -> None:
    """F-SAFE-3: what is switched off forbids nothing; any other value does."""
    assert bool(restrictions_in(entry)) is restricts


def test_every_way_is_known_everywhere() -> None:
    """F-MANY-11"""
    assert get_args(NamingStyle) == NAMING_STYLES
    found = set()
    for style in NAMING_STYLES:
        names = ToolNames(style, 64)
        names.assign("server", ["tool"])
        found.add(names.names_of("server")["tool"])
    assert len(found) == len(NAMING_STYLES)
