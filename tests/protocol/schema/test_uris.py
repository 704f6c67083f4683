"""URI references as `$id` and `$ref` use them."""

from __future__ import annotations

import pytest

from mcpclient.protocol.schema.dialects import join_pointer, pointer_tokens, resolve, split_fragment

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
    assert resolve(BASE, reference) == target


def test_other_bases() -> None:
    assert resolve("", "a/b") == "a/b"
    assert resolve("a/b", "c") == "a/c"
    assert resolve("http://a", "b") == "http://a/b"
    assert resolve("urn:x:y", "") == "urn:x:y"


def test_fragments_and_pointers() -> None:
    assert split_fragment("a#b%25c") == ("a", "b%c")
    assert split_fragment("a") == ("a", "")
    assert pointer_tokens("/a~1b/~01") == ["a/b", "~1"]
    assert join_pointer(["a/b", 0, "~1"]) == "/a~1b/0/~01"
