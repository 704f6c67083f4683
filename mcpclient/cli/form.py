"""A field of a form as a question in the terminal, and what is typed as its value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import McpError
from ..net.clocks import steady_seconds
from ..protocol.schema_on_demand import compile_schema
from .render import one_line

_YES = ("y", "yes", "true", "1", "on")
_NO = ("n", "no", "false", "0", "off")


@dataclass(frozen=True)
class Choice:
    """One of the values that a field may have, and what it is called."""

    value: Any
    title: str


@dataclass(frozen=True)
class Field:
    """One field of a form. ``schema`` is as the server sent it."""

    name: str
    schema: Mapping[str, Any]
    required: bool = False

    @property
    def kind(self) -> str:
        """What is to be typed, in a word or two."""
        kind = self.schema.get("type")
        if kind == "array":
            return "several, with commas"
        if kind == "string" and isinstance(self.schema.get("format"), str):
            return one_line(self.schema["format"])
        known = {"string": "text", "integer": "whole number", "number": "number"}
        return "yes or no" if kind == "boolean" else known.get(str(kind), "text")

    @property
    def choices(self) -> list[Choice]:
        """The values to choose from, in order; empty where anything may be typed."""
        items = self.schema.get("items") if self.schema.get("type") == "array" else self.schema
        return _choices_in(items) if isinstance(items, Mapping) else []

    def question(self) -> list[str]:
        """Return the lines that ask for it, escaped."""
        title = one_line(_text(self.schema.get("title")) or self.name)
        about = [self.kind, "" if self.required else "optional", *self._bounds()]
        lines = [f"{title} ({', '.join(filter(None, about))})"]
        if self.schema.get("description"):
            lines.append(f"  {one_line(_text(self.schema['description']))}")
        lines += [f"  {n}. {one_line(c.title)}" for n, c in enumerate(self.choices, 1)]
        if "default" in self.schema:
            lines[-1] += f"  [{one_line(self._shown_default())}]"
        return lines

    def value(self, text: str) -> Any:
        """Return what was typed as a value; None for nothing where that is allowed.

        Raises `ValueError`, with what is wrong in words.
        """
        text = text.strip()
        value: Any
        if not text:
            if "default" not in self.schema:
                if self.required:
                    raise ValueError("it is needed")
                return None
            value = self.schema["default"]
        elif self.schema.get("type") == "array":
            value = [self._one(part.strip()) for part in text.split(",") if part.strip()]
        else:
            value = self._one(text)
        self._check(value)
        return value

    def _check(self, value: Any) -> None:
        """Raise `ValueError` for a value that breaks a rule of the schema, such as its format."""
        try:
            schema = compile_schema(self.schema, clock=steady_seconds, assert_formats=True)
            violations = schema.validate(value)
        except McpError:  # it is too costly, or no schema: the answer as a whole is checked later
            return
        if violations:
            raise ValueError(one_line(violations[0].message))

    def _one(self, text: str) -> Any:
        choices = self.choices
        if choices:
            return _chosen(text, choices)
        kind = self.schema.get("type")
        if kind == "boolean":
            return _boolean(text)
        if kind in ("integer", "number"):
            return self._number(text, whole=kind == "integer")
        return text

    def _number(self, text: str, *, whole: bool) -> float:
        try:
            number = int(text) if whole else _shortest(float(text))
        except ValueError:
            raise ValueError(f"type a {'whole ' if whole else ''}number") from None
        if not math.isfinite(number):
            raise ValueError("type a number")
        low, high = self.schema.get("minimum"), self.schema.get("maximum")
        if isinstance(low, (int, float)) and number < low:
            raise ValueError(f"it has to be {low} or more")
        if isinstance(high, (int, float)) and number > high:
            raise ValueError(f"it has to be {high} or less")
        return number

    def _bounds(self) -> list[str]:
        low, high = self.schema.get("minimum"), self.schema.get("maximum")
        said = [f"from {low}" if low is not None else "", f"to {high}" if high is not None else ""]
        return [one_line(" ".join(filter(None, said)))]

    def _shown_default(self) -> str:
        default = self.schema["default"]
        values = default if isinstance(default, list) else [default]
        titles = {repr(choice.value): choice.title for choice in self.choices}
        if isinstance(default, bool):
            return "yes" if default else "no"
        return ", ".join(titles.get(repr(value), str(value)) for value in values)


def fields_of(schema: Mapping[str, Any]) -> list[Field]:
    """Return the fields of a form's or a tool's schema, in its order."""
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, Mapping):
        return []
    needed = required if isinstance(required, Sequence) else ()
    return [
        Field(name, field, name in needed)
        for name, field in properties.items()
        if isinstance(field, Mapping)
    ]


def _choices_in(schema: Mapping[str, Any]) -> list[Choice]:
    """Return the choices of any of the spellings that revisions have (SEP-1330)."""
    values, names = schema.get("enum"), schema.get("enumNames")
    if isinstance(values, list):
        titles = names if isinstance(names, list) and len(names) == len(values) else values
        return [Choice(value, str(title)) for value, title in zip(values, titles)]
    for key in ("oneOf", "anyOf"):
        options = schema.get(key)
        if isinstance(options, list) and all(
            isinstance(option, Mapping) and "const" in option for option in options
        ):
            return [
                Choice(option["const"], str(option.get("title", option["const"])))
                for option in options
            ]
    return []


def _chosen(text: str, choices: Sequence[Choice]) -> Any:
    """Return the value that a number, a title or the value itself means."""
    for choice in choices:
        if text in (str(choice.value), choice.title):
            return choice.value
    if text.isascii() and text.isdigit() and 1 <= int(text) <= len(choices):
        return choices[int(text) - 1].value
    raise ValueError(f"type a number from 1 to {len(choices)}, or one of the names")


def _boolean(text: str) -> bool:
    if text.lower() in _YES:
        return True
    if text.lower() in _NO:
        return False
    raise ValueError("type y or n")


def _shortest(number: float) -> float:
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
