"""Wire objects that keep what they were made of: F-WIRE-8."""

from __future__ import annotations

import copy
import pickle
from types import MappingProxyType
from typing import Any

import pytest

from mcpclient.protocol.wire_object import (
    Converted,
    Field,
    ServerRequest,
    WireObject,
    WireObjectList,
    object_in,
    referenced,
    string_at,
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


@pytest.mark.parametrize(
    ("raw", "name", "size", "on"),
    [
        ({"name": "x", "size": 5, "on": True}, "x", 5, True),
        ({"size": 1.5}, "nobody", 1.5, False),
        ({}, "nobody", None, False),
        ({"name": None, "size": None, "on": None}, "nobody", None, False),
        ({"name": 5, "size": "big", "on": 1}, "nobody", None, False),
        ({"name": ["x"], "size": True, "on": "true"}, "nobody", None, False),
        ({"name": {}, "size": False, "on": []}, "nobody", None, False),
    ],
)
def test_fields(raw: dict[str, Any], name: str, size: float | None, on: bool) -> None:
    """F-WIRE-8: a field of the wrong type reads as absent; true is no number."""
    thing = Thing(raw)
    assert (thing.name, thing.size, thing.on) == (name, size, on)
    assert thing.raw is raw


def test_lists_of_records() -> None:
    """F-WIRE-8: what is no object is left out of a list, and what is no list is an empty one."""
    raw = {"items": [{"name": "a"}, None, "b", {"vendor": 1}, ["c"]]}
    assert [item.name for item in Thing(raw).items] == ["a", ""]
    assert Thing(raw).items[1].raw == {"vendor": 1}
    assert Thing({"items": {"name": "a"}}).items == []
    assert Thing({}).items == []


def test_converted_fields() -> None:
    """F-WIRE-8: what is no object is an empty one, a new one each time; so it is with strings."""
    thing = Thing({"options": {"a": 1}, "tags": ["x", 1, "y"]})
    assert (thing.options, thing.tags) == ({"a": 1}, ["x", "y"])
    assert thing.options is thing.raw["options"]
    wrong = Thing({"options": [], "tags": {"x": "y"}})
    assert (wrong.options, wrong.tags) == ({}, [])
    assert wrong.options is not wrong.options
    assert isinstance(Thing.options, Converted)


@pytest.mark.parametrize(
    ("value", "found"),
    [({"a": {"b": "x"}}, "x"), ({"a": {"b": 1}}, None), ({"a": ["b"]}, None), ("a", None)],
)
def test_a_string_in_nested_objects(value: object, found: str | None) -> None:
    assert string_at(value, "a", "b") == found


def test_a_request_names_its_server() -> None:
    assert (ServerRequest({}).server, ServerRequest({}, "files").server) == ("", "files")


def test_unknown_fields_are_kept() -> None:
    """F-WIRE-8: raw is the server's dict, later changes included; other mappings are copied."""
    raw: dict[str, Any] = {"vendor": {"deep": [1]}}
    thing = Thing(raw)
    assert thing.raw["vendor"] == {"deep": [1]}
    raw["name"] = "late"
    assert thing.name == "late"
    assert Thing(MappingProxyType({"name": "x"})).raw == {"name": "x"}


def test_metadata() -> None:
    """F-WIRE-8: ``_meta`` of any object, empty when there is none worth the name."""
    assert Thing({"_meta": {"a/b": 1}}).meta == {"a/b": 1}
    assert Thing({"_meta": "x"}).meta == {}
    assert Thing({}).meta == {}


def test_equality_and_copies() -> None:
    """F-WIRE-8: records are equal when their classes and contents are, and can be moved about."""
    thing = Thing({"name": "x", "items": [{"name": "a"}]})
    assert thing == Thing({"name": "x", "items": [{"name": "a"}]})
    assert thing != Thing({"name": "y"})
    assert Thing({}) != Item({})
    assert thing != {"name": "x", "items": [{"name": "a"}]}
    assert copy.copy(thing) == thing
    assert copy.deepcopy(thing) == thing
    assert pickle.loads(pickle.dumps(thing)) == thing
    assert repr(Item({"name": "a"})) == "Item({'name': 'a'})"
    with pytest.raises(TypeError):
        hash(thing)


def test_a_field_cannot_be_set() -> None:
    """F-WIRE-8: there is one truth, the dict."""
    with pytest.raises(AttributeError):
        Thing({}).name = "x"  # type: ignore[assignment]


def test_a_reference_is_part_of_a_uri() -> None:
    """F-AUTH-12: its escapes are those of a URI and of a JSON pointer (RFC 6901, section 6)."""
    root = {"$defs": {"my secret/é": {"format": "password"}}}
    found = referenced({"$ref": "#/$defs/my%20secret~1%C3%A9"}, root)
    assert found == {"format": "password"}
    assert referenced({"$ref": "#/$defs/%"}, root) == {}
