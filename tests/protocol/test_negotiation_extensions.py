"""Extensions, declared and read: F-API-16."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.errors import UsageError
from mcpclient.protocol.negotiation import checked_extensions, extensions_of


def test_extensions_are_declared_as_given() -> None:
    """F-API-16: a name with a prefix, and settings that are an object."""
    given = {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html"]}, "com.example/a.b_c": {}}
    assert checked_extensions(given) == given


@pytest.mark.parametrize("name", ["ui", "/ui", "a b/c", "1.example/x", "com..x/y", "com.x/", ""])
def test_a_name_that_no_extension_has(name: str) -> None:
    """F-API-16: a mistake is the caller's to know of, not the server's."""
    with pytest.raises(UsageError, match="named like"):
        checked_extensions({name: {}})


def test_settings_that_are_no_object() -> None:
    with pytest.raises(UsageError, match="the settings of extension com"):
        checked_extensions({"com.example/x": True})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("capabilities", "found"),
    [
        ({}, {}),
        ({"extensions": None}, {}),
        ({"extensions": {"a/b": {}, "a/c": {"x": 1}, "a/d": True}}, {"a/b": {}, "a/c": {"x": 1}}),
    ],
)
def test_what_a_server_declares(capabilities: dict[str, Any], found: dict[str, Any]) -> None:
    """F-API-16: what is no object is no declaration."""
    assert extensions_of(capabilities) == found
