"""The keywords that apply schemas: to the same value, its members, or its items.

Source: JSON Schema Core 2020-12, sections 8.2, 10 and 11.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count, repeat
from typing import TYPE_CHECKING, Any, Callable, Optional

from .assertions import missing_member
from .evaluation import (
    ANY,
    ARRAY,
    ENTRIES_PER_STEP,
    OBJECT,
    Check,
    Evaluated,
    Failure,
    Failures,
    Rule,
    Run,
    all_failures,
)
from .values import describe

if TYPE_CHECKING:
    from .compiler import Build, Site

_SHOWN_ALTERNATIVES = 3
_SHOWN_REASON = 100


# Schemas for the same value.


def _children(site: Site) -> list[Check]:
    return [site.child(index, in_place=True) for index in range(len(site.items()))]


def _some_of(site: Site) -> Rule:
    """Compile ``anyOf`` or ``oneOf``."""
    children = _children(site)
    is_one_of = site.keyword == "oneOf"

    def check(value: object, run: Run, seen: Evaluated | None) -> Failures:
        # One will do, unless the others may evaluate further members.
        enough = 2 if is_one_of else 1 if seen is None else len(children)
        refused: list[list[Failure]] = []
        matched: dict[int, Evaluated | None] = {}
        for index, child in enumerate(children):
            evaluated = None if seen is None else Evaluated()
            found = child(value, run, evaluated)
            if found is not None:
                refused.append(found)
                continue
            matched[index] = evaluated
            if len(matched) == enough:
                break
        if not matched:
            return _closest(value, refused) or site.fail(_no_alternative(value, refused))
        if is_one_of and len(matched) == 2:
            first, second = matched
            shown = f"alternatives {first} and {second}, where one is allowed"
            return site.fail(f"{describe(value)} matches {shown}")
        for evaluated in matched.values():
            if seen is not None and evaluated is not None:
                run.merge(seen, evaluated)
        return None

    return Rule(ANY, check)


def _closest(value: Any, refused: Sequence[list[Failure]]) -> Failures:
    """Return the failures of the alternative that the value was meant for, if one can be told.

    Alternatives are often told apart by a member, such as a ``type`` that is a constant in each. If
    a value has none of the constants, that is its only failure.
    """
    meant = [failures for failures in refused if not any(map(_tells_apart, failures))]
    if meant:
        depths = [min(len(failure.path) for failure in failures) for failures in meant]
        return meant[depths.index(max(depths))] if depths.count(max(depths)) == 1 else None
    telling = [failure for failures in refused for failure in failures if _tells_apart(failure)]
    names = {tuple(failure.path) for failure in telling}
    if len(names) != 1:
        return None
    if names == {()}:  # of another type than each
        return telling[:1] if len({failure.message for failure in telling}) == 1 else None
    (name,) = names.pop()
    constants = dict.fromkeys(map(_constants, telling))
    telling[0].message = f"{describe(value[name])} is none of {', '.join(constants)}"
    return telling[:1]


def _tells_apart(failure: Failure) -> bool:
    """Whether a failure says that a value was not meant for an alternative."""
    keywords = (
        ("type",) if not failure.path else ("const", "enum") if len(failure.path) == 1 else ()
    )
    return failure.keyword in keywords


def _constants(failure: Failure) -> str:
    schema = failure.position.value
    assert isinstance(schema, dict)
    named = schema[failure.keyword]
    return ", ".join(map(describe, named if isinstance(named, list) else [named]))


def _no_alternative(value: object, refused: Sequence[list[Failure]]) -> str:
    # Cut short, because they may quote the alternatives of alternatives.
    reasons = [failures[0].message[:_SHOWN_REASON] for failures in refused[:_SHOWN_ALTERNATIVES]]
    more = "; …" if len(refused) > _SHOWN_ALTERNATIVES else ""
    shown = "; ".join(reasons)
    return f"{describe(value)} matches none of {len(refused)} alternatives ({shown}{more})"


def _not(site: Site) -> Rule:
    child = site.child(in_place=True)

    def holds(value: object, run: Run) -> bool:
        return child(value, run, None) is not None

    return site.assertion(ANY, holds, "matches a schema it must not match")


def _if(site: Site) -> Rule:
    condition = site.child(in_place=True)
    consequence, alternative = [
        site.sibling(keyword).child(in_place=True) if keyword in site.schema else None
        for keyword in ("then", "else")
    ]

    def check(value: object, run: Run, seen: Evaluated | None) -> Failures:
        dealt_with = None if seen is None else Evaluated()
        found = condition(value, run, dealt_with)
        if found is not None:
            return None if alternative is None else alternative(value, run, seen)
        if seen is not None and dealt_with is not None:
            run.merge(seen, dealt_with)
        return None if consequence is None else consequence(value, run, seen)

    return Rule(ANY, check)


def _dependencies(site: Site) -> Rule:
    """Compile ``dependentRequired``, ``dependentSchemas``, or ``dependencies``, which is both.

    The latter is of draft-07; 2020-12 has split it in two and still tolerates it.
    """
    required: list[tuple[str, tuple[str, ...]]] = []
    children: list[tuple[str, Check]] = []
    for name, dependency in site.members().items():
        has_names = isinstance(dependency, list) and site.keyword == "dependencies"
        if has_names or site.keyword == "dependentRequired":
            required.append((name, site.names(dependency)))
        else:
            children.append((name, site.child(name, in_place=True)))

    def check(value: dict[str, object], run: Run, seen: Evaluated | None) -> Failures:
        for name, others in required:
            if name in value:
                run.spend(len(others) // ENTRIES_PER_STEP)
                for other in others:
                    if other not in value:
                        return site.fail(f"{missing_member(other)}, which {describe(name)} needs")
        present = (child for name, child in children if name in value)
        return all_failures(present, value, run, seen)

    return Rule(OBJECT, check)


# Schemas for parts of a value: its members or items.

Part = tuple["str | int", object, Check]
Parts = Callable[[Any, Run, Optional[Evaluated]], Iterable[Part]]
"""Returns the parts that a keyword deals with, and so evaluates."""


def _each(types: Sequence[type], parts: Parts, *, evaluates: bool = True) -> Rule:
    """Return the rule that checks each of these parts by its schema."""

    def check(value: object, run: Run, seen: Evaluated | None) -> Failures:
        failures: Failures = None
        for token, part, child in parts(value, run, seen):
            if seen is not None and evaluates:
                seen.add(token)
            found = child(part, run, None)
            if found is not None:
                for failure in found:
                    failure.path.append(token)
                failures = found if failures is None else failures + found
                if len(failures) >= run.violations:
                    break
        return failures

    return Rule(types, check)


def _properties(site: Site) -> Rule | None:
    children = [(name, site.child(name)) for name in site.members()]
    if not children:
        return None

    def parts(value: dict[str, object], run: Run, seen: Evaluated | None) -> Iterable[Part]:
        return [(name, value[name], child) for name, child in children if name in value]

    return _each(OBJECT, parts)


def _pattern_properties(site: Site) -> Rule:
    children = [(site.compiler.pattern(text), site.child(text)) for text in site.members()]

    def parts(value: dict[str, object], run: Run, seen: Evaluated | None) -> Iterator[Part]:
        for name, member in value.items():
            for pattern, child in children:
                if pattern.search(name, run.spend):
                    yield name, member, child

    return _each(OBJECT, parts)


def _additional_properties(site: Site) -> Rule:
    named = site.schema.get("properties")
    names = frozenset(named) if isinstance(named, dict) else frozenset()
    matching = site.schema.get("patternProperties")
    texts = matching if isinstance(matching, dict) else ()
    patterns = [site.compiler.pattern(text) for text in texts]
    child = site.child()

    def parts(value: dict[str, object], run: Run, seen: Evaluated | None) -> Iterator[Part]:
        run.spend(len(value) // ENTRIES_PER_STEP)
        for name in () if names.issuperset(value) else value:
            if name not in names and not any(each.search(name, run.spend) for each in patterns):
                yield name, value[name], child

    return _each(OBJECT, parts)


def _property_names(site: Site) -> Rule:
    child = site.child()
    return _each(OBJECT, lambda value, run, seen: zip(value, value, repeat(child)), evaluates=False)


def _first_items(site: Site, schemas: Sequence[object]) -> Rule:
    children = [site.child(index) for index in range(len(schemas))]
    return _each(ARRAY, lambda value, run, seen: zip(count(), value, children))


def _items(site: Site) -> Rule | None:
    """Compile ``items`` or, behind a list of those in draft-07, ``additionalItems``."""
    first = site.schema.get("items" if site.dialect.legacy else "prefixItems")
    listed = first if isinstance(first, list) else []
    if site.value is listed:
        return _first_items(site, listed)
    if site.keyword == "additionalItems" and first is not listed:
        return None
    child, start = site.child(), len(listed)

    def parts(value: list[object], run: Run, seen: Evaluated | None) -> Iterable[Part]:
        return zip(count(start), value[start:] if start else value, repeat(child))

    return _each(ARRAY, parts)


def _contains(site: Site) -> Rule:
    child = site.child()
    least, most = 1, None
    if not site.dialect.legacy:
        least = site.sibling("minContains").size() if "minContains" in site.schema else 1
        most = site.sibling("maxContains").size() if "maxContains" in site.schema else None

    def check(value: list[object], run: Run, seen: Evaluated | None) -> Failures:
        found = [index for index, item in enumerate(value) if child(item, run, None) is None]
        if seen is not None:
            seen.update(found)
        if len(found) < least:
            return site.fail(f"{len(found)} items match what at least {least} must match")
        if most is not None and len(found) > most:
            return site.fail(f"{len(found)} items match what at most {most} may match")
        return None

    return Rule(ARRAY, check)


def _unevaluated(site: Site) -> Rule:
    """Compile the keyword for parts that no other one has evaluated; the compiler puts it last."""
    child = site.child()
    is_of_objects = site.keyword == "unevaluatedProperties"

    def parts(value: Any, run: Run, seen: Evaluated | None) -> Iterable[Part]:
        assert seen is not None
        run.spend(len(value) // ENTRIES_PER_STEP)
        members = value.items() if is_of_objects else enumerate(value)
        return [(token, part, child) for token, part in members if token not in seen]

    return _each(OBJECT if is_of_objects else ARRAY, parts)


APPLICATORS: Mapping[str, Build] = {
    "$ref": lambda site: Rule(ANY, site.compiler.refer(site.position, site.text())),
    "$dynamicRef": lambda site: Rule(
        ANY, site.compiler.refer_dynamically(site.position, site.text())
    ),
    "allOf": lambda site: Rule(ANY, partial(all_failures, _children(site))),
    "anyOf": _some_of,
    "oneOf": _some_of,
    "not": _not,
    "if": _if,
    "dependentRequired": _dependencies,
    "dependentSchemas": _dependencies,
    "dependencies": _dependencies,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "propertyNames": _property_names,
    "prefixItems": lambda site: _first_items(site, site.items()),
    "items": _items,
    "additionalItems": _items,
    "contains": _contains,
}

UNEVALUATED: Mapping[str, Build] = {
    "unevaluatedProperties": _unevaluated,
    "unevaluatedItems": _unevaluated,
}
