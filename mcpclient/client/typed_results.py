"""Conversion of a result's data to a type of the caller: a dataclass, a TypedDict or a plain type.

Nothing is guessed: a string never becomes a number, and a value that does not fit is named by its
place.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import inspect
import re
import types
import typing
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Callable, TypeVar

from ..errors import ResultMismatch, ToolError, UsageError
from ..protocol.types import CallToolResult

T = TypeVar("T")

UNIONS: tuple[object, ...] = (typing.Union, getattr(types, "UnionType", typing.Union))
_SCALARS = {str: "text", bool: "a boolean", int: "an integer", float: "a number"}
_TIMES = (datetime.datetime, datetime.date, datetime.time)
LISTS = (list, set, frozenset, tuple)
# The most characters shown of an error that a class of the caller raises.
_SHOWN_PROBLEM = 500
# Python before 3.11 reads no Z, and no fraction of other than three or six digits.
_ZULU = re.compile(r"[zZ]$")
_FRACTION = re.compile(r"(?<=\.)\d+")
# The qualifiers around the type of a TypedDict's field.
QUALIFIERS = ("Required", "NotRequired", "ReadOnly")


class _Unfit(Exception):
    """A value does not fit; ``place`` leads to it from the result."""

    def __init__(self, problem: str, place: str = "") -> None:
        super().__init__(problem, place)
        self.problem = problem
        self.place = place


def typed_result(tool: str, result: CallToolResult, returns: type[T]) -> T:
    """Return the data of a result as ``returns``.

    ``returns``: a dataclass, a TypedDict, an Enum (by value), a class with ``model_validate``;
    ``bool``, ``int``, ``float``, ``str``, ``datetime``, ``date`` and ``time`` (ISO 8601);
    ``list``, ``set``, ``tuple`` and ``dict`` of these; ``Optional``, ``Union`` (the first that
    fits), ``Literal``, ``Any``. Members that a dataclass has no field for are left out; a missing
    one takes the field's default.

    Of an object ``{"result": …}`` both the inside and the whole are tried. Raises `ToolError` for
    the result of a tool that failed, `ResultMismatch` for data that does not fit, and `UsageError`
    for a type that JSON cannot fill.
    """
    if result.is_error:
        raise ToolError(tool, result)
    try:
        return typing.cast(T, _fill(result.data, returns))
    except _Unfit as error:
        problem = error
    structured = result.structured
    if isinstance(structured, dict) and list(structured) == ["result"]:
        other = structured if result.is_wrapped else structured["result"]
        with suppress(_Unfit):
            return typing.cast(T, _fill(other, returns))
    raise ResultMismatch(tool, problem.place, problem.problem, result)


def fill(value: object, wanted: Any, place: str) -> Any:
    """Return a JSON value as ``wanted``, one of the types of `typed_result`.

    Raises `ValueError`, which names the value that does not fit and its place below ``place``.
    """
    try:
        return _fill(value, wanted)
    except _Unfit as error:
        raise ValueError(f"{place}{error.place}: {error.problem}") from None


def _fill(value: object, wanted: Any) -> Any:
    if wanted is Any or wanted is object:
        return value
    if wanted is None or wanted is type(None):
        return _expect(value is None, value, "null")
    origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
    if hasattr(wanted, "__supertype__"):  # a NewType
        return _fill(value, wanted.__supertype__)
    if hasattr(wanted, "__metadata__") or getattr(origin, "_name", None) in QUALIFIERS:
        return _fill(value, arguments[0] if arguments else wanted.__origin__)
    if origin in UNIONS:
        return _fill_union(value, arguments)
    if origin is typing.Literal:
        found = [one for one in arguments if one == value and type(one) is type(value)]
        _expect(bool(found), value, " or ".join(map(repr, arguments)))
        return value
    return _fill_class(value, origin or wanted, arguments)


def _fill_class(value: object, wanted: Any, arguments: tuple[Any, ...]) -> Any:
    if not isinstance(wanted, type):
        raise UsageError(f"returns: {wanted!r} is not a type that a result can be filled into")
    if wanted in _SCALARS:
        return _fill_scalar(value, wanted)
    if is_typed_dict(wanted):
        return _fill_typed_dict(value, wanted)
    if dataclasses.is_dataclass(wanted):
        return _fill_dataclass(value, wanted)
    if issubclass(wanted, enum.Enum):
        return _converted(value, wanted, " or ".join(repr(member.value) for member in wanted))
    if wanted in _TIMES:
        return _fill_time(value, wanted)
    if callable(getattr(wanted, "model_validate", None)):
        try:
            return wanted.model_validate(value)  # type: ignore[attr-defined]
        except (ValueError, TypeError) as error:
            problem = " ".join(str(error).split())[:_SHOWN_PROBLEM]
            raise _Unfit(f"expected {wanted.__name__}, got {_shown(value)}: {problem}") from error
    if issubclass(wanted, LISTS) or wanted.__module__ == "collections.abc":
        is_mapping = issubclass(wanted, Mapping)
        return _fill_dict(value, arguments) if is_mapping else _fill_list(value, wanted, arguments)
    if issubclass(wanted, dict):
        return _fill_dict(value, arguments)
    raise UsageError(f"returns: {wanted!r} is not a type that a result can be filled into")


def _expect(fits: bool, value: object, expected: str) -> Any:
    if not fits:
        raise _Unfit(f"expected {expected}, got {_shown(value)}")
    return value


def _shown(value: object) -> str:
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _fill_scalar(value: object, wanted: type) -> Any:
    is_bool = isinstance(value, bool)
    if wanted is float:
        _expect(isinstance(value, (int, float)) and not is_bool, value, _SCALARS[wanted])
        return _converted(value, float, _SCALARS[wanted])  # an integer may be too large
    if wanted is int and isinstance(value, float) and value.is_integer():
        return int(value)
    return _expect(
        isinstance(value, wanted) and is_bool == (wanted is bool), value, _SCALARS[wanted]
    )


def _fill_union(value: object, options: tuple[Any, ...]) -> Any:
    problems = []
    for option in options:
        try:
            return _fill(value, option)
        except _Unfit as error:
            problems.append((option, error))
    wanted = [error for option, error in problems if option is not type(None)]
    if len(wanted) == 1:
        raise wanted[0]
    raise _Unfit(f"{_shown(value)} fits none of {', '.join(_name(option) for option in options)}")


def _name(wanted: Any) -> str:
    return "null" if wanted is type(None) else getattr(wanted, "__name__", str(wanted))


def _fill_time(value: object, wanted: Any) -> Any:
    name = f"a {wanted.__name__} in ISO 8601"
    text = str(_expect(isinstance(value, str), value, name))
    text = _ZULU.sub("+00:00", _FRACTION.sub(lambda digits: f"{digits.group():0<6.6}", text))
    return _converted(text, wanted.fromisoformat, name)


def _converted(value: object, convert: Callable[[Any], Any], expected: str) -> Any:
    try:
        return convert(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise _Unfit(f"expected {expected}, got {_shown(value)}") from error


def _fill_list(value: object, wanted: type, arguments: tuple[Any, ...]) -> Any:
    _expect(isinstance(value, list), value, "a list")
    items = typing.cast("list[object]", value)
    if issubclass(wanted, tuple) and arguments and arguments[-1] is not Ellipsis:
        _expect(len(items) == len(arguments), value, f"a list of {len(arguments)}")
        kinds = list(arguments)
    else:
        kinds = [arguments[0] if arguments else Any] * len(items)
    filled = [
        _inside(f"[{index}]", item, kind) for index, (item, kind) in enumerate(zip(items, kinds))
    ]
    if wanted not in LISTS:
        return filled
    return _converted(filled, wanted, "a list of plain values")  # a set holds no others


def _fill_dict(value: object, arguments: tuple[Any, ...]) -> dict[Any, Any]:
    _expect(isinstance(value, dict), value, "an object")
    names, kind = arguments if len(arguments) == 2 else (Any, Any)
    return {
        _inside(f".{name}", name, names): _inside(f".{name}", item, kind)
        for name, item in typing.cast("dict[str, object]", value).items()
    }


def _fill_members(
    value: object, wanted: type, hints: Mapping[str, Any], required: Iterable[str]
) -> dict[str, Any]:
    _expect(isinstance(value, dict), value, f"an object ({wanted.__name__})")
    given, filled = typing.cast("dict[str, object]", value), {}
    for name, hint in hints.items():
        if name in given:
            filled[name] = _inside(f".{name}", given[name], hint)
        elif name in required:
            raise _Unfit("is missing", f".{name}")
    return filled


def _fill_dataclass(value: object, wanted: Any) -> Any:
    arguments = _fill_members(value, wanted, *members_of(wanted))
    try:
        return wanted(**arguments)
    except (ValueError, TypeError) as error:  # its own __post_init__
        raise _Unfit(f"{wanted.__name__} does not take it: {error}") from error


def is_typed_dict(wanted: type) -> bool:
    """Whether a class is a TypedDict."""
    return issubclass(wanted, dict) and hasattr(wanted, "__required_keys__")


def _fill_typed_dict(value: object, wanted: Any) -> dict[str, Any]:
    filled = _fill_members(value, wanted, *members_of(wanted))
    return {**typing.cast("dict[str, object]", value), **filled}


def members_of(wanted: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the types of a TypedDict's or a dataclass's members, and the names of required ones.

    Also where annotations are strings. Raises `UsageError` for those that cannot be resolved.
    """
    hints = _hints(wanted)
    if not is_typed_dict(wanted):
        missing = dataclasses.MISSING
        fields = [field for field in dataclasses.fields(wanted) if field.init]
        return {field.name: hints[field.name] for field in fields}, [
            field.name
            for field in fields
            if field.default is missing and field.default_factory is missing
        ]
    marks = {name: getattr(typing.get_origin(hint), "_name", None) for name, hint in hints.items()}
    return hints, [
        name
        for name, mark in marks.items()
        if mark == "Required" or (name in wanted.__required_keys__ and mark != "NotRequired")
    ]


def _inside(step: str, value: object, wanted: Any) -> Any:
    try:
        return _fill(value, wanted)
    except _Unfit as error:
        raise _Unfit(error.problem, step + error.place) from None


def _hints(wanted: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(wanted, include_extras=True)
    except (NameError, TypeError) as error:
        place = inspect.getmodule(wanted)
        named = f" in {place.__name__}" if place is not None else ""
        raise UsageError(f"the types of {wanted.__name__}{named}: {error}") from error
