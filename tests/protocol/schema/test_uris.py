"""URI references as `$id` and `$ref` use them: F-API-17."""

from __future__ import annotations

import pytest

from mcpclient.protocol.schema import compile_schema

BASE = "http://a/b/c/d;p?q"

# RFC 3986, sections 5.4.1 and 5.4.2, without the examples that are about fragments.
RFC_EXAMPLES = {
    "g:h": "g:h", "g": "http://a/b/c/g", "./g": "http://a/b/c/g", "g/": "http://a/b/c/g/",
    "/g": "http://a/g", "//g": "http://g", "?y": "http://a/b/c/d;p?y", "g?y": "http://a/b/c/g?y",
    ";x": "http://a/b/c/;x", "g;x": "http://a/b/c/g;x", "": "http://a/b/c/d;p?q",
    ".": "http://a/b/c/", "./": "http://a/b/c/", "..": "http://a/b/", "../": "http://a/b/",
    "../g": "http://a/b/g", "../..": "http://a/", "../../": "http://a/", "../../g": "http://a/g",
    "../../../g": "http://a/g", "/./g": "http://a/g", "/../g": "http://a/g",
    "g.": "http://a/b/c/g.", "..g": "http://a/b/c/..g", "./../g": "http://a/b/g",
    "g/./h": "http://a/b/c/g/h", "g/../h": "http://a/b/c/h",
}  # fmt: skip


@pytest.mark.parametrize(("reference", "target"), RFC_EXAMPLES.items())
def test_the_examples_of_the_rfc(reference: str, target: str) -> None:
    """F-API-17: a reference leads to the schema that has the URI it is resolved to."""
    other = {"$id": target, "type": "integer"} if target != BASE else {}
    part = {"$ref": reference} if target != BASE else {"$ref": f"{reference}#/$defs/here"}
    schema = {"$id": BASE, "items": part, "$defs": {"a": other, "here": {"type": "integer"}}}
    compiled = compile_schema(schema)
    assert compiled.validate([1]) == []
    assert compiled.validate(["x"])
