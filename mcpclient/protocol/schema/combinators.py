"""The keywords that apply further schemas to the same value: references and combinations.

Source: JSON Schema Core 2020-12, sections 8.2 and 10.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .assertions import required_with
from .evaluation import ANY, OBJECT, Build, Check, Evaluated, Failures, Rule, Run, Site
from .values import describe

_SHOWN_ALTERNATIVES = 3
_SHOWN_REASON = 100


def _reference(site: Site) -> Rule:
    return Rule(ANY, site.services.refer(site.position, site.text()))


def _dynamic_reference(site: Site) -> Rule:
    return Rule(ANY, site.services.refer_dynamically(site.position, site.text()))


# Several schemas for the same value.


def _children(site: Site) -> list[Check]:
    return [site.child(index, in_place=True) for index in range(len(site.items()))]


def _all_of(site: Site) -> Rule:
    children = _children(site)

    def check(value: object, run: Run, seen: Evaluated | None) -> Failures:
        failures: Failures = None
        for child in children:
            found = child(value, run, seen)
            if found is not None:
                failures = found if failures is None else failures + found
                if len(failures) >= run.violations:
                    break
        return failures

    return Rule(ANY, check)


def _any_of(site: Site) -> Rule:
    children = _children(site)

    def check(value: object, run: Run, seen: Evaluated | None) -> Failures:
        reasons: list[str] = []
        matched = False
        for child in children:
            dealt_with = None if seen is None else Evaluated()
            found = child(value, run, dealt_with)
            if found is not None:
                reasons.append(found[0].message)
                continue
            if seen is None or dealt_with is None:
                return None
            matched = True  # all the others count, too: they may deal with further members
            seen.add(dealt_with, run)
        return None if matched else site.fail(_no_alternative(value, reasons))

    return Rule(ANY, check)


def _one_of(site: Site) -> Rule:
    children = _children(site)

    def check(value: object, run: Run, seen: Evaluated | None) -> Failures:
        reasons: list[str] = []
        matched: list[int] = []
        kept: Evaluated | None = None
        for index, child in enumerate(children):
            dealt_with = None if seen is None else Evaluated()
            found = child(value, run, dealt_with)
            if found is not None:
                reasons.append(found[0].message)
                continue
            matched.append(index)
            kept = dealt_with
            if len(matched) > 1:
                shown = f"alternatives {matched[0]} and {matched[1]}, where one is allowed"
                return site.fail(f"{describe(value)} matches {shown}")
        if not matched:
            return site.fail(_no_alternative(value, reasons))
        if seen is not None and kept is not None:
            seen.add(kept, run)
        return None

    return Rule(ANY, check)


def _no_alternative(value: object, reasons: Sequence[str]) -> str:
    # Cut short, because they may quote the alternatives of alternatives.
    shown = "; ".join([reason[:_SHOWN_REASON] for reason in reasons[:_SHOWN_ALTERNATIVES]])
    more = "; …" if len(reasons) > _SHOWN_ALTERNATIVES else ""
    return f"{describe(value)} matches none of {len(reasons)} alternatives ({shown}{more})"


def _not(site: Site) -> Rule:
    child = site.child(in_place=True)

    def check(value: object, run: Run, seen: Evaluated | None) -> Failures:
        if child(value, run, None) is not None:
            return None
        return site.fail(f"{describe(value)} matches a schema it must not match")

    return Rule(ANY, check)


def _if(site: Site) -> Rule:
    condition = site.child(in_place=True)
    branches = [
        site.sibling(keyword).child(in_place=True) if keyword in site.schema else None
        for keyword in ("then", "else")
    ]
    consequence, alternative = branches

    def check(value: object, run: Run, seen: Evaluated | None) -> Failures:
        dealt_with = None if seen is None else Evaluated()
        found = condition(value, run, dealt_with)
        if found is not None:
            return None if alternative is None else alternative(value, run, seen)
        if seen is not None and dealt_with is not None:
            seen.add(dealt_with, run)
        return None if consequence is None else consequence(value, run, seen)

    return Rule(ANY, check)


def _dependent_schemas(site: Site) -> Rule:
    children = [(name, site.child(name, in_place=True)) for name in site.members()]
    return Rule(OBJECT, _where_present(children))


def _where_present(children: Sequence[tuple[str, Check]]) -> Check:
    def check(value: object, run: Run, seen: Evaluated | None) -> Failures:
        assert isinstance(value, dict)
        failures: Failures = None
        for name, child in children:
            if name in value:
                found = child(value, run, seen)
                if found is not None:
                    failures = found if failures is None else failures + found
                    if len(failures) >= run.violations:
                        break
        return failures

    return check


def _dependencies(site: Site) -> Rule:
    """The keyword of draft-07 that 2020-12 has split in two and still tolerates."""
    required: list[tuple[str, tuple[str, ...]]] = []
    children: list[tuple[str, Check]] = []
    for name, dependency in site.members().items():
        if isinstance(dependency, list):
            required.append((name, site.names(dependency)))
        else:
            children.append((name, site.child(name, in_place=True)))
    check_required = required_with(site, required)
    check_schemas = _where_present(children)

    def check(value: object, run: Run, seen: Evaluated | None) -> Failures:
        return check_required(value, run, seen) or check_schemas(value, run, seen)

    return Rule(OBJECT, check)


COMBINATORS: Mapping[str, Build] = {
    "$ref": _reference,
    "$dynamicRef": _dynamic_reference,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
    "dependentSchemas": _dependent_schemas,
    "dependencies": _dependencies,
}
