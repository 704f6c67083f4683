"""Wire objects that keep the JSON they were made of: F-WIRE-8."""

from __future__ import annotations

from typing import Any

from mcpclient.protocol.wire_object import (
    Converted,
    Field,
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
