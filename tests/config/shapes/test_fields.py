"""The tables of fields."""

from __future__ import annotations

from mcpclient.client.link.targets import TRANSPORT_NAMES
from mcpclient.config.shapes.fields import FIELDS, IGNORED, is_comment
from mcpclient.config.shapes.values import READERS


def test_every_field_has_a_reader_and_one_meaning() -> None:
    assert {field.kind for field in FIELDS.values()} <= READERS.keys()
    assert {field.side for field in FIELDS.values()} == {"stdio", "remote", "both"}
    assert not FIELDS.keys() & IGNORED
    assert all(name == name.lower() for name in TRANSPORT_NAMES)


def test_comments_in_disguise() -> None:
    assert all(map(is_comment, ("_comment", "$schema", "//", "// a", "x-note", "comment")))
    assert not any(map(is_comment, ("comand", "xcommand", "command")))
