"""The keywords that judge a value by itself. Source: JSON Schema Validation 2020-12, section 6."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .evaluation import (
    ANY,
    ARRAY,
    ENTRIES_PER_STEP,
    NUMBER,
    OBJECT,
    TEXT,
    Check,
    Evaluated,
    Failures,
    Rule,
    Run,
)
from .formats import FORMATS
from .values import describe, division_steps, identity, is_multiple

if TYPE_CHECKING:
    from .compiler import Build, Site

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "number": (int, float),
    "integer": (int,),
}
_WITH_ARTICLE = {
    "object": "an object",
    "array": "an array",
    "integer": "an integer",
    "null": "null",
}


def _type(site: Site) -> Rule | None:
    names = [site.value] if isinstance(site.value, str) else site.names(site.items())
    for name in names:
        if name not in _TYPES:
            raise site.error(f"names {describe(name)}, which is not a type")
    allowed = {python for name in names for python in _TYPES[str(name)]}
    integers_only = "integer" in names and "number" not in names
    expected = " or ".join([_WITH_ARTICLE.get(str(name), f"a {name}") for name in names])

    def check(value: object, run: Run, seen: Evaluated | None) -> Failures:
        if integers_only and isinstance(value, float) and value.is_integer():
            return None
        return site.fail(f"{describe(value)} is not {expected}")

    return Rule(tuple([python for python in ANY if python not in allowed]), check)


def _enum(site: Site) -> Rule:
    if not isinstance(site.value, list):
        raise site.error("is not an array")
    return _one_of(site, site.value)


def _one_of(site: Site, choices: list[object]) -> Rule:
    depth = site.compiler.depth
    spend = site.compiler.spend
    spend(len(choices))
    allowed = {identity(choice, depth, spend) for choice in choices}
    shown = ", ".join([describe(choice) for choice in choices[:10]])
    shown = f"one of {shown}{', …' if len(choices) > 10 else ''}" if len(choices) != 1 else shown

    def check(value: object, run: Run, seen: Evaluated | None) -> Failures:
        if identity(value, run.depth, run.spend) in allowed:
            return None
        return site.fail(f"{describe(value)} is not {shown}")

    return Rule(ANY, check)


def _multiple_of(site: Site) -> Rule:
    divisor = site.number()
    if divisor <= 0:
        raise site.error("is not greater than 0")

    def check(value: float, run: Run, seen: Evaluated | None) -> Failures:
        run.spend(division_steps(value, divisor))
        if is_multiple(value, divisor):
            return None
        return site.fail(f"{describe(value)} is not a multiple of {describe(divisor)}")

    return Rule(NUMBER, check)


def _bound(
    types: Sequence[type],
    holds: Callable[[float, float], bool],
    fault: str,
    measure: Callable[[Any], int] | None = None,
) -> Build:
    """Return the keyword that bounds a number or, with ``measure``, the size of another value."""

    def build(site: Site) -> Rule:
        limit = site.number() if measure is None else site.size()

        def check(value: Any, run: Run, seen: Evaluated | None) -> Failures:
            measured = value if measure is None else measure(value)
            if holds(measured, limit):  # asked in this direction, NaN fails
                return None
            return site.fail(fault.format(describe(measured), describe(limit)))

        return Rule(types, check)

    return build


def _pattern(site: Site) -> Rule:
    text = site.text()
    pattern = site.compiler.pattern(text)

    def check(value: str, run: Run, seen: Evaluated | None) -> Failures:
        if pattern.search(value, run.spend):
            return None
        return site.fail(f"{describe(value)} does not match the pattern {describe(text)}")

    return Rule(TEXT, check)


def _format(site: Site) -> Rule | None:
    name = site.text()
    is_format = FORMATS.get(name)
    if is_format is None or not (site.compiler.asserts_formats or site.dialect.asserts_formats):
        return None

    def check(value: str, run: Run, seen: Evaluated | None) -> Failures:
        run.spend(len(value))
        if is_format(value):
            return None
        return site.fail(f"{describe(value)} does not have the format {name}")

    return Rule(TEXT, check)


def _unique_items(site: Site) -> Rule | None:
    if not isinstance(site.value, bool):
        raise site.error("is not a boolean")
    if not site.value:
        return None

    def check(value: list[object], run: Run, seen: Evaluated | None) -> Failures:
        run.spend(len(value))
        first: dict[object, int] = {}
        for index, item in enumerate(value):
            known = first.setdefault(identity(item, run.depth, run.spend), index)
            if known != index:
                return site.fail(f"items {known} and {index} are equal")
        return None

    return Rule(ARRAY, check)


def _required(site: Site) -> Rule | None:
    names = site.names(site.value)
    required = frozenset(names)

    def check(value: dict[str, object], run: Run, seen: Evaluated | None) -> Failures:
        if value.keys() >= required:
            return None
        missing = [name for name in names if name not in value][: run.violations]
        return [failure for name in missing for failure in site.fail(_missing(name))]

    return Rule(OBJECT, check) if names else None


def _missing(name: str) -> str:
    return f"the required member {describe(name)} is missing"


def _dependent_required(site: Site) -> Rule:
    dependencies = [(name, site.names(names)) for name, names in site.members().items()]
    return Rule(OBJECT, required_with(site, dependencies))


def required_with(site: Site, dependencies: list[tuple[str, tuple[str, ...]]]) -> Check:
    """The check of members that are required wherever another one is present."""

    def check(value: dict[str, object], run: Run, seen: Evaluated | None) -> Failures:
        for name, required in dependencies:
            if name in value:
                run.spend(len(required) // ENTRIES_PER_STEP)
                for other in required:
                    if other not in value:
                        return site.fail(f"{_missing(other)}, which {describe(name)} needs")
        return None

    return check


ASSERTIONS: Mapping[str, Build] = {
    "type": _type,
    "enum": _enum,
    "const": lambda site: _one_of(site, [site.value]),
    "multipleOf": _multiple_of,
    "maximum": _bound(NUMBER, operator.le, "{} is greater than {}"),
    "exclusiveMaximum": _bound(NUMBER, operator.lt, "{} is not less than {}"),
    "minimum": _bound(NUMBER, operator.ge, "{} is less than {}"),
    "exclusiveMinimum": _bound(NUMBER, operator.gt, "{} is not greater than {}"),
    "maxLength": _bound(TEXT, operator.le, "{} characters are more than {}", len),
    "minLength": _bound(TEXT, operator.ge, "{} characters are less than {}", len),
    "pattern": _pattern,
    "format": _format,
    "maxItems": _bound(ARRAY, operator.le, "{} items are more than {}", len),
    "minItems": _bound(ARRAY, operator.ge, "{} items are less than {}", len),
    "uniqueItems": _unique_items,
    "maxProperties": _bound(OBJECT, operator.le, "{} members are more than {}", len),
    "minProperties": _bound(OBJECT, operator.ge, "{} members are less than {}", len),
    "required": _required,
    "dependentRequired": _dependent_required,
}
