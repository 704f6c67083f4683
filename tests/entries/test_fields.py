"""F-MANY-7: the tables of fields."""

from __future__ import annotations

from typing import get_args

from mcpclient.entries.entry import READERS
from mcpclient.entries.fields import (
    FIELDS,
    IGNORED,
    NAMING_STYLES,
    RESTRICTIVE,
    TRANSPORT_NAMES,
    NamingStyle,
    is_comment,
)
from mcpclient.manager.naming import ToolNames


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


def test_every_way_is_known_everywhere() -> None:
    """F-MANY-11"""
    assert get_args(NamingStyle) == NAMING_STYLES
    found = set()
    for style in NAMING_STYLES:
        names = ToolNames(style, 64)
        names.assign("server", ["tool"])
        found.add(names.names_of("server")["tool"])
    assert len(found) == len(NAMING_STYLES)
