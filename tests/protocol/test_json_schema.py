"""The tree of a JSON Schema, as its readers see it."""

from __future__ import annotations

from mcpclient.protocol.json_schema import alternatives
from mcpclient.protocol.schema_properties import referenced


def test_a_reference_is_part_of_a_uri() -> None:
    """F-AUTH-12: it has the escapes of a URI and of a JSON pointer (RFC 6901, section 6)."""
    root = {"$defs": {"my secret/é": {"format": "password"}}}
    found = referenced({"$ref": "#/$defs/my%20secret~1%C3%A9"}, root)
    assert found == {"format": "password"}
    assert referenced({"$ref": "#/$defs/%"}, root) == {}


def test_alternatives_that_contain_themselves() -> None:
    """F-SHOW-2: each is reported once, whatever a server sends."""
    root = {"anyOf": [{"$ref": "#"}, {"type": "string"}, 5], "allOf": [{"$ref": "#/anyOf/1"}]}
    assert [each.get("type") for each in alternatives(root, root)] == [None] * 3 + ["string"]
