"""The keywords that apply schemas to the members of an object and the items of an array.

Source: JSON Schema Core 2020-12, sections 10.3 and 11.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .evaluation import (
    ARRAY,
    ENTRIES_PER_STEP,
    OBJECT,
    Build,
    Check,
    Evaluated,
    Failures,
    Rule,
    Run,
    Site,
    place,
)
from .patterns import Pattern

_ABSENT = object()


def _join(failures: Failures, found: Failures, token: str | int) -> Failures:
    """Add the failures inside the member or item ``token`` to the failures of its owner."""
    if found is None:
        return failures
    placed = place(found, token)
    return placed if failures is None else failures + placed


# The members of an object.


def _properties(site: Site) -> Rule:
    children = [(name, site.child(name)) for name in site.members()]

    def check(value: object, run: Run, seen: Evaluated | None) -> Failures:
        assert isinstance(value, dict)
        failures: Failures = None
        for name, child in children:
            member = value.get(name, _ABSENT)
            if member is not _ABSENT:
                found = child(member, run, None)
                if found is not None:
                    failures = _join(failures, found, name)
                    if failures is not None and len(failures) >= run.violations:
                        break
        if seen is not None:
            seen.properties.update([name for name, _ in children if name in value])
        return failures

    return Rule(OBJECT, check)


def _pattern_properties(site: Site) -> Rule:
    children = [(site.pattern(text), site.child(text)) for text in site.members()]

    def check(value: object, run: Run, seen: Evaluated | None) -> Failures:
        assert isinstance(value, dict)
        failures: Failures = None
        for name, member in value.items():
            for pattern, child in children:
                if pattern.search(name, run.spend):
                    if seen is not None:
                        seen.properties.add(name)
                    failures = _join(failures, child(member, run, None), name)
            if failures is not None and len(failures) >= run.violations:
                break
        return failures

    return Rule(OBJECT, check)


def _additional_properties(site: Site) -> Rule:
    named = site.schema.get("properties", {})
    names = frozenset(named) if isinstance(named, dict) else frozenset()
    patterns = _patterns(site)
    child = site.child()

    def check(value: object, run: Run, seen: Evaluated | None) -> Failures:
        assert isinstance(value, dict)
        failures: Failures = None
        run.spend(len(value) // ENTRIES_PER_STEP)
        for name in value:
            if name in names or (patterns and _matches_any(patterns, name, run)):
                continue
            if seen is not None:
                seen.properties.add(name)
            failures = _join(failures, child(value[name], run, None), name)
            if failures is not None and len(failures) >= run.violations:
                break
        return failures

    return Rule(OBJECT, check)


def _patterns(site: Site) -> Sequence[Pattern]:
    if "patternProperties" not in site.schema:
        return ()
    sibling = site.sibling("patternProperties")
    return [sibling.pattern(text) for text in sibling.members()]


def _matches_any(patterns: Sequence[Pattern], name: str, run: Run) -> bool:
    return any(pattern.search(name, run.spend) for pattern in patterns)


def _property_names(site: Site) -> Rule:
    child = site.child()

    def check(value: object, run: Run, seen: Evaluated | None) -> Failures:
        assert isinstance(value, dict)
        failures: Failures = None
        for name in value:
            failures = _join(failures, child(name, run, None), name)
            if failures is not None and len(failures) >= run.violations:
                break
        return failures

    return Rule(OBJECT, check)


# The items of an array.


def _prefix_items(site: Site) -> Rule:
    children = [site.child(index) for index in range(len(site.items()))]
    return Rule(ARRAY, _first_items(children))


def _first_items(children: Sequence[Check]) -> Check:
    def check(value: object, run: Run, seen: Evaluated | None) -> Failures:
        assert isinstance(value, list)
        failures: Failures = None
        for index, (child, item) in enumerate(zip(children, value)):
            failures = _join(failures, child(item, run, None), index)
            if failures is not None and len(failures) >= run.violations:
                break
        if seen is not None:
            seen.items.update(range(min(len(children), len(value))))
        return failures

    return check


def _items(site: Site) -> Rule:
    if site.dialect.legacy and isinstance(site.value, list):
        return Rule(ARRAY, _first_items([site.child(index) for index in range(len(site.value))]))
    prefix = site.schema.get("prefixItems")
    skipped = len(prefix) if isinstance(prefix, list) and not site.dialect.legacy else 0
    return Rule(ARRAY, _items_from(site, skipped))


def _additional_items(site: Site) -> Rule | None:
    first = site.schema.get("items")
    return Rule(ARRAY, _items_from(site, len(first))) if isinstance(first, list) else None


def _items_from(site: Site, start: int) -> Check:
    child = site.child()

    def check(value: object, run: Run, seen: Evaluated | None) -> Failures:
        assert isinstance(value, list)
        failures: Failures = None
        for index, item in enumerate(value[start:] if start else value, start):
            found = child(item, run, None)
            if found is not None:
                failures = _join(failures, found, index)
                if failures is not None and len(failures) >= run.violations:
                    break
        if seen is not None:
            seen.items.update(range(start, len(value)))
        return failures

    return check


def _contains(site: Site) -> Rule:
    child = site.child()
    least, most = 1, None
    if not site.dialect.legacy:
        least = site.sibling("minContains").size() if "minContains" in site.schema else 1
        most = site.sibling("maxContains").size() if "maxContains" in site.schema else None

    def check(value: object, run: Run, seen: Evaluated | None) -> Failures:
        assert isinstance(value, list)
        found = [index for index, item in enumerate(value) if child(item, run, None) is None]
        if seen is not None:
            seen.items.update(found)
        if len(found) < least:
            return site.fail(f"{len(found)} items match what at least {least} must match")
        if most is not None and len(found) > most:
            return site.fail(f"{len(found)} items match what at most {most} may match")
        return None

    return Rule(ARRAY, check)


# What no other keyword has dealt with. The compiler puts these last.


def _unevaluated_properties(site: Site) -> Rule:
    child = site.child()

    def check(value: object, run: Run, seen: Evaluated | None) -> Failures:
        assert isinstance(value, dict)
        assert seen is not None
        run.spend(len(value) // ENTRIES_PER_STEP)
        failures: Failures = None
        for name in value:
            if name not in seen.properties:
                failures = _join(failures, child(value[name], run, None), name)
                if failures is not None and len(failures) >= run.violations:
                    break
        seen.properties.update(value)
        return failures

    return Rule(OBJECT, check)


def _unevaluated_items(site: Site) -> Rule:
    child = site.child()

    def check(value: object, run: Run, seen: Evaluated | None) -> Failures:
        assert isinstance(value, list)
        assert seen is not None
        run.spend(len(value) // ENTRIES_PER_STEP)
        failures: Failures = None
        for index, item in enumerate(value):
            if index not in seen.items:
                failures = _join(failures, child(item, run, None), index)
                if failures is not None and len(failures) >= run.violations:
                    break
        seen.items.update(range(len(value)))
        return failures

    return Rule(ARRAY, check)


CONTAINERS: Mapping[str, Build] = {
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "propertyNames": _property_names,
    "prefixItems": _prefix_items,
    "items": _items,
    "additionalItems": _additional_items,
    "contains": _contains,
}

UNEVALUATED: Mapping[str, Build] = {
    "unevaluatedProperties": _unevaluated_properties,
    "unevaluatedItems": _unevaluated_items,
}
