"""Wire objects that keep what they were made of: F-WIRE-8."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.protocol.wire_object import (
    Converted,
    Field,
    ServerRequest,
    WireObject,
    WireObjectList,
    object_in,
    strings_in,
)


class Item(WireObject):
    __slots__ = ()
    name = Field("name", (str,), "")


class Thing(WireObject):
    __slots__ = ()
    name = Field("name", (str,), "nobody", "What it is called.")
    size = Field[Any]("size", (int, float), None)
    on = Field("on", (bool,), False)
    items = WireObjectList("items", Item, "What is in it.")
    options = Converted("options", object_in)
    tags = Converted("tags", strings_in)


def test_a_field_says_what_it_is() -> None:
    """For help(), whether the class was made long ago or just now."""

    class Late(WireObject):
        __slots__ = ()
        name = Field("name", (str,), "", "What it is called.")
        items = WireObjectList("items", Item, "What is in it.")

    assert Late.name.__doc__ == Thing.name.__doc__ == "What it is called."
    assert Late.items.__doc__ == Thing.items.__doc__ == "What is in it."
    assert isinstance(Thing.name, Field) and isinstance(Thing.items, WireObjectList)
    assert Late({"name": "x", "items": [{"name": "y"}]}).items[0].name == "y"


def test_converted_fields() -> None:
    """F-WIRE-8: what is no object is an empty one, a new one each time; so it is with strings."""
    thing = Thing({"options": {"a": 1}, "tags": ["x", 1, "y"]})
    assert (thing.options, thing.tags) == ({"a": 1}, ["x", "y"])
    assert thing.options is thing.raw["options"]
    wrong = Thing({"options": [], "tags": {"x": "y"}})
    assert (wrong.options, wrong.tags) == ({}, [])
    assert wrong.options is not wrong.options
    assert isinstance(Thing.options, Converted)


def test_a_request_names_its_server() -> None:
    assert (ServerRequest({}).server, ServerRequest({}, "files").server) == ("", "files")


def test_metadata() -> None:
    """F-WIRE-8: ``_meta`` of any object, empty when there is none worth the name."""
    assert Thing({"_meta": {"a/b": 1}}).meta == {"a/b": 1}
    assert Thing({"_meta": "x"}).meta == {}
    assert Thing({}).meta == {}


def test_a_field_cannot_be_set() -> None:
    """F-WIRE-8: there is one truth, the dict."""
    with pytest.raises(AttributeError):
        Thing({}).name = "x"  # type: ignore[assignment]
