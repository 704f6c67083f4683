"""The keywords that judge a value by itself. Source: JSON Schema Validation 2020-12, section 6."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address
from typing import TYPE_CHECKING, Any

from .evaluation import ANY, ARRAY, NUMBER, OBJECT, TEXT, Evaluated, Failures, Rule, Run
from .values import FREE_TEXT, describe, identity, is_multiple

if TYPE_CHECKING:
    from .compiler import Build, Site

# The types of JSON: as Python has them, and as messages name them.
_TYPES: Mapping[object, tuple[tuple[type, ...], str]] = {
    "object": ((dict,), "an object"),
    "array": ((list,), "an array"),
    "string": ((str,), "a string"),
    "boolean": ((bool,), "a boolean"),
    "null": ((type(None),), "null"),
    "number": ((int, float), "a number"),
    "integer": ((int,), "an integer"),
}


def _type(site: Site) -> Rule | None:
    names = [site.value] if isinstance(site.value, str) else site.names(site.items())
    for name in names:
        if name not in _TYPES:
            raise site.error(f"names {describe(name)}, which is not a type")
    allowed = {python for name in names for python in _TYPES[name][0]}
    integers_only = "integer" in names and "number" not in names
    expected = " or ".join([_TYPES[name][1] for name in names])

    def holds(value: object, run: Run) -> bool:
        return integers_only and isinstance(value, float) and value.is_integer()

    others = tuple([python for python in ANY if python not in allowed])
    return site.assertion(others, holds, f"is not {expected}")


def _one_of(site: Site) -> Rule:
    """Compile ``const`` or ``enum``."""
    choices = [site.value] if site.keyword == "const" else site.value
    if not isinstance(choices, list):
        raise site.error("is not an array")
    depth = site.compiler.depth
    spend = site.compiler.spend
    spend(len(choices))
    allowed = {identity(choice, depth, spend) for choice in choices}
    shown = ", ".join([describe(choice) for choice in choices[:10]])
    shown = f"one of {shown}{', …' if len(choices) > 10 else ''}" if len(choices) != 1 else shown

    def holds(value: object, run: Run) -> bool:
        if isinstance(value, str) and len(value) <= FREE_TEXT:
            return value in allowed
        return identity(value, run.depth, run.spend) in allowed

    return site.assertion(ANY, holds, f"is not {shown}")


def _multiple_of(site: Site) -> Rule:
    divisor = site.number()
    if divisor <= 0:
        raise site.error("is not greater than 0")

    def holds(value: float, run: Run) -> bool:
        return is_multiple(value, divisor, run.spend)

    return site.assertion(NUMBER, holds, f"is not a multiple of {describe(divisor)}")


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

    def holds(value: str, run: Run) -> bool:
        return pattern.search(value, run.spend)

    return site.assertion(TEXT, holds, f"does not match the pattern {describe(text)}")


def _format(site: Site) -> Rule | None:
    name = site.text()
    is_format = _FORMATS.get(name)
    if is_format is None or not site.compiler.asserts_formats:
        return None

    def holds(value: str, run: Run) -> bool:
        run.spend(len(value))
        return is_format(value)

    return site.assertion(TEXT, holds, f"does not have the format {name}")


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
        return [failure for name in missing for failure in site.fail(missing_member(name))]

    return Rule(OBJECT, check) if names else None


def missing_member(name: str) -> str:
    """Return the message for a member that is not there."""
    return f"the required member {describe(name)} is missing"


# The formats, as tests of strings, that forms have; they apply only where formats are asserted, and
# others only describe. Source: section 7.3, and the RFC named at each. All expressions are our own,
# and none can backtrack far; they are compiled at their first use.

Matches = Callable[[str], bool]


def _expression(pattern: str) -> Matches:
    return lambda text: re.fullmatch(pattern, text) is not None


def _parsed(parse: Callable[[str], object]) -> Matches:
    def matches(text: str) -> bool:
        try:
            parse(text)
        except ValueError:
            return False
        return True

    return matches


# RFC 3339, section 5.6. Every minute may have a leap second.
_TIME = (
    r"(?ai)(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?"
    r"(?:z|[+-](?:[01]\d|2[0-3]):[0-5]\d)"
)
_is_time = _expression(_TIME)
_MONTH_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _is_date(text: str) -> bool:
    match = re.fullmatch(r"(?a)(\d{4})-(\d\d)-(\d\d)", text)
    year, month, day = map(int, match.groups()) if match is not None else (0, 0, 0)
    if not 1 <= month <= 12 or not 1 <= day <= _MONTH_DAYS[month - 1]:
        return False
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return (month, day) != (2, 29) or leap


# RFC 1123.
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"


def _is_host(text: str) -> bool:
    for label in text.split("."):
        # Two hyphens in this place are kept for encodings, of which one is in use.
        reserved = label[2:4] == "--" and label[:4].lower() != "xn--"
        if len(label) > 63 or reserved or not re.fullmatch(_LABEL, label):
            return False
    return len(text) <= 253


_is_ipv6 = _parsed(IPv6Address)

# RFC 5321, without addresses at hosts that have no name.
_LOCAL = (
    r"(?a)[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*"
    r'|"(?:[^"\\\x00-\x1f\x7f]|\\[ -~])*"'
)


def _is_address(text: str) -> bool:
    local, at, host = text.rpartition("@")
    is_local = text.isascii() and re.fullmatch(_LOCAL, local) is not None
    return bool(at) and is_local and _is_host(host)


# RFC 3986.
_URI = (
    r"[A-Za-z][A-Za-z0-9+.-]*:(?:(?!//)|//(?:[^/?#\[\]@]*@)?"
    r"(?:\[(?P<literal>[0-9A-Fa-f:.]+)\]|[^/?#\[\]@:]*)(?::[0-9]*)?(?![^/?#]))"
    r"[^?#\[\]]*(?:\?[^#\[\]]*)?(?:#[^#\[\]]*)?"
)
_NOT_URI = r"[^!#-;=?-\[\]_a-z~]|%(?![0-9A-Fa-f]{2})"


def _is_uri(text: str) -> bool:
    match = re.fullmatch(_URI, text)
    if match is None or re.search(_NOT_URI, text):
        return False
    return match["literal"] is None or _is_ipv6(match["literal"])


_FORMATS: Mapping[str, Matches] = {
    "date-time": lambda text: (
        text[10:11] in ("T", "t") and _is_date(text[:10]) and _is_time(text[11:])
    ),
    "date": _is_date,
    "time": _is_time,
    "email": _is_address,
    "hostname": _is_host,
    "ipv4": _parsed(IPv4Address),
    "ipv6": lambda text: "%" not in text and _is_ipv6(text),  # without a zone
    "uri": _is_uri,
    "byte": _expression(
        r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"
    ),  # base64
    "uuid": _expression(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"),
}

ASSERTIONS: Mapping[str, Build] = {
    "type": _type,
    "enum": _one_of,
    "const": _one_of,
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
}
