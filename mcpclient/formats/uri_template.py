"""URI templates: RFC 6570 with all four levels, as resource templates use them.

::

    expand("file:///{path}{?line,column}", {"path": "notes", "line": 7})  # file:///notes?line=7

The template is the server's and a fault in it is a `TemplateError`; the values are the caller's
and a fault in them is a `UsageError`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Union
from urllib.parse import quote

from ..errors import TemplateError, UsageError

_Scalar = Union[str, int, float]
# None, and a sequence or mapping without members, mean that the variable is undefined.
TemplateValue = Union[_Scalar, Sequence[_Scalar], Mapping[str, _Scalar], None]


class _Operator(NamedTuple):
    """The syntax of one kind of expression. Source: RFC 6570, appendix A."""

    first: str = ""
    separator: str = ","
    named: bool = False
    if_empty: str = ""
    keeps_reserved: bool = False


_OPERATORS = {
    "": _Operator(),
    "+": _Operator(keeps_reserved=True),
    "#": _Operator(first="#", keeps_reserved=True),
    ".": _Operator(first=".", separator="."),
    "/": _Operator(first="/", separator="/"),
    ";": _Operator(first=";", separator=";", named=True),
    "?": _Operator(first="?", separator="&", named=True, if_empty="="),
    "&": _Operator(first="&", separator="&", named=True, if_empty="="),
}
_RESERVED_FOR_EXTENSIONS = "=,!@|"


class _Variable(NamedTuple):
    name: str
    prefix: int | None
    explode: bool


_Part = Union[str, tuple[_Operator, list[_Variable]]]

_EXPRESSION = re.compile(r"\{([^{}]*)\}")
_VARIABLE = re.compile(
    r"((?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:\.?(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*)"
    r"(?::([1-9][0-9]{0,3})|(\*))?"
)
_RESERVED = ":/?#[]@!$&'()*+,;="
_TRIPLET = re.compile(r"(%[0-9A-Fa-f]{2})")
# The apostrophe was left out of the grammar by mistake (RFC erratum 6937).
_NOT_LITERAL = re.compile(r'[\x00-\x20\x7f"<>\\^`{|}\ud800-\udfff]|%(?![0-9A-Fa-f]{2})')


def expand(template: str, variables: Mapping[str, TemplateValue]) -> str:
    """Return the URI that a template makes of these values.

    A variable that is missing or None adds nothing. Numbers are written as Python writes them,
    booleans as JSON does. Raises `TemplateError` for a malformed template, and `UsageError` for a
    value that cannot stand where its variable does.
    """
    parts: list[str] = []
    for part in _parse(template):
        if isinstance(part, str):
            parts.append(_encode(part, keeps_reserved=True))
            continue
        operator, named = part
        expanded = [_expand_variable(operator, each, variables.get(each.name)) for each in named]
        texts = [text for text in expanded if text is not None]
        parts.append(operator.first + operator.separator.join(texts) if texts else "")
    return "".join(parts)


def variable_names(template: str) -> list[str]:
    """Return the names of a template's variables, each once, in order. Raises `TemplateError`."""
    expressions = [part[1] for part in _parse(template) if not isinstance(part, str)]
    return list(dict.fromkeys(variable.name for named in expressions for variable in named))


def _parse(template: str) -> list[_Part]:
    parts: list[_Part] = []
    position = 0
    for found in _EXPRESSION.finditer(template):
        parts.append(_literal(template, position, found.start()))
        parts.append(_parse_expression(template, *found.span(1)))
        position = found.end()
    return [*parts, _literal(template, position, len(template))]


def _literal(template: str, start: int, end: int) -> str:
    literal = template[start:end]
    fault = _NOT_LITERAL.search(literal)
    if fault is not None:
        is_open = fault[0] == "{"
        reason = "the brace is not closed" if is_open else f"{fault[0]!r} may not stand here"
        raise TemplateError(template, start + fault.start(), reason)
    return literal


def _parse_expression(template: str, start: int, end: int) -> tuple[_Operator, list[_Variable]]:
    symbol = template[start:end][:1]
    if symbol and symbol in _RESERVED_FOR_EXTENSIONS:
        raise TemplateError(template, start, f"the operator {symbol!r} has no meaning yet")
    symbol = symbol if symbol in _OPERATORS else ""
    position = start + len(symbol)
    variables: list[_Variable] = []
    while True:
        match = _VARIABLE.match(template, position, end)
        if match is None:
            raise TemplateError(template, position, "the name of a variable is missing")
        name, prefix, explode = match.groups()
        variables.append(_Variable(name, int(prefix) if prefix else None, bool(explode)))
        position = match.end()
        if position == end:
            return _OPERATORS[symbol], variables
        if template[position] != ",":
            raise TemplateError(template, position, f"{template[position]!r} may not stand here")
        position += 1


def _expand_variable(operator: _Operator, variable: _Variable, value: object) -> str | None:
    """The text of one variable, or None when it is undefined. Source: RFC 6570, section 3.2.1."""
    if value is None:
        return None
    if isinstance(value, (str, int, float)):
        text = _text(variable, value)[: variable.prefix]
        return _named(operator, variable.name, _encode(text, operator.keeps_reserved))
    if variable.prefix is not None:
        raise UsageError(f"{variable.name}: the template takes a prefix of it, so it must be text")
    pairs: list[tuple[object, ...]]  # without a key for items of a list
    if isinstance(value, Mapping):
        pairs = list(value.items())
    elif isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        pairs = [(item,) for item in value]
    else:
        raise UsageError(f"{variable.name}: a {type(value).__name__} has no place in a URI")
    members = [
        [_encode(_text(variable, part), operator.keeps_reserved) for part in pair]
        for pair in pairs
        if pair[-1] is not None
    ]
    if not members:
        return None
    if not variable.explode:
        return _named(operator, variable.name, ",".join(map(",".join, members)))
    if isinstance(value, Mapping) and not operator.named:
        return operator.separator.join(map("=".join, members))
    named = [_named(operator, ([variable.name, *member])[-2], member[-1]) for member in members]
    return operator.separator.join(named)


def _named(operator: _Operator, name: str, text: str) -> str:
    if not operator.named:
        return text
    return f"{name}={text}" if text else f"{name}{operator.if_empty}"


def _text(variable: _Variable, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        try:
            return str(value)
        except ValueError:  # more digits than the interpreter converts
            raise UsageError(f"{variable.name}: the number has too many digits") from None
    raise UsageError(f"{variable.name}: a {type(value).__name__} has no place inside a list")


def _encode(text: str, keeps_reserved: bool) -> str:
    try:
        if not keeps_reserved:
            return quote(text, safe="")
        # Every second part is an escape that is there already.
        parts = _TRIPLET.split(text)
        parts[::2] = [quote(part, safe=_RESERVED) for part in parts[::2]]
    except UnicodeEncodeError:
        raise UsageError(f"{text!r} is not text that a URI can carry") from None
    return "".join(parts)
