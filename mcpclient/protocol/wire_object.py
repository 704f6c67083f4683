"""Objects of the protocol with typed fields: a record keeps the whole dict that it was made of.

A field reads its value from that dict each time it is asked for. So making a record costs nothing,
however many fields it has; fields that this library does not know are kept; and a field of the
wrong type reads as absent instead of failing the whole message. ``raw`` is that dict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Callable, ClassVar, Generic, NoReturn, TypeVar, cast, overload

from ..errors import safe_repr

T = TypeVar("T")
R = TypeVar("R", bound="WireObject")


class Field(Generic[T]):
    """A read-only property that reads ``key`` of the record's dict.

    ``kind`` are the types a value may have; ``default`` stands for a missing value and for
    one of another type.
    """

    _convert: Callable[[object], T] | None = None

    def __init__(self, key: str, kind: tuple[type, ...], default: T, doc: str = "") -> None:
        self._key = key
        self._kind = kind
        self._takes_bool = bool in kind  # an int for Python, not a number for JSON
        self._default = default
        self.__doc__ = doc

    @overload
    def __get__(self, record: None, owner: type) -> Field[T]: ...
    @overload
    def __get__(self, record: WireObject, owner: type) -> T: ...
    def __get__(self, record: WireObject | None, owner: type) -> Field[T] | T:
        if record is None:
            return self
        value = record.raw.get(self._key)
        if self._convert is not None:
            return self._convert(value)
        if not isinstance(value, self._kind) or (isinstance(value, bool) and not self._takes_bool):
            return self._default
        return cast(T, value)

    def __set__(self, record: WireObject, value: NoReturn) -> None:
        raise AttributeError("the fields of a protocol object are read-only; set them in its raw")


class Converted(Field[T]):
    """A property that reads ``key`` of the record's dict through a function.

    ``convert`` takes any JSON value, and None for a missing one.
    """

    def __init__(self, key: str, convert: Callable[[object], T], doc: str = "") -> None:
        self._key = key
        self._convert = convert
        self.__doc__ = doc


class WireObjectList(Converted[list[R]]):
    """A property that reads ``key`` as a list of records; others than objects are left out."""

    def __init__(self, key: str, make: Callable[[dict[str, Any]], R], doc: str = "") -> None:
        super().__init__(key, lambda value: list(map(make, objects_in(value))), doc)


def object_in(value: object) -> dict[str, Any]:
    """Return an object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def objects_in(value: object) -> list[dict[str, Any]]:
    """Return the objects of a list, without its other items; empty for anything but a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def value_at(value: Any, path: Iterable[str]) -> Any:
    """Return the value at a path of keys; None where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def string_at(value: object, *path: str) -> str | None:
    """Return the string at a path of keys; None where there is none."""
    found = value_at(value, path)
    return found if isinstance(found, str) else None


def strings_in(value: object) -> list[str]:
    """Return the strings of a list, without its other items; empty for anything but a list."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


class WireObject:
    """One object of the protocol. ``raw`` is the dict the server sent, unknown fields included."""

    __slots__ = ("raw",)

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw: dict[str, Any] = raw if isinstance(raw, dict) else dict(raw)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WireObject):
            return NotImplemented
        return type(self) is type(other) and self.raw == other.raw

    # A wire object is as mutable as its dict.
    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({safe_repr(self.raw, longest=None)})"

    @property
    def meta(self) -> dict[str, Any]:
        """The ``_meta`` of this object, empty when it has none."""
        return object_in(self.raw.get("_meta"))


class ServerRequest(WireObject):
    """A request of the server that a handler answers.

    ``server``: the name or address of the server, so that the user can be told who asks.
    """

    __slots__ = ("server",)

    def __init__(self, raw: Mapping[str, Any], server: str = "") -> None:
        super().__init__(raw)
        self.server: str = server
