"""JSON values as JSON sees them, where Python's own view differs.

In JSON a boolean is not a number, 1.0 is the same number as 1, and objects have no order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable

from ...errors import UsageError

__all__ = ["JSON_TYPES", "describe", "identity", "is_multiple", "json_type"]

JSON_TYPES: tuple[type, ...] = (dict, list, str, bool, int, float, type(None))

_SHOWN_TEXT = 80
_SHOWN_BITS = 256
# Texts that are equal are compared by the whole; up to this length that costs next to nothing.
_FREE_TEXT = 4096


def json_type(value: object) -> type:
    """Which of `JSON_TYPES` a value belongs to; subclasses count.

    Raises `UsageError` for a value JSON does not know.
    """
    for candidate in JSON_TYPES:
        if isinstance(value, candidate):
            return candidate
    raise UsageError(f"a {type(value).__name__} is not a JSON value")


def identity(value: object, depth: int, spend: Callable[[int], None] | None = None) -> Hashable:
    """A key that is equal for two values exactly when JSON Schema calls them equal.

    Numbers become text, because the hashes of Python's numbers can be made to collide at will
    while those of strings are keyed. Raises RecursionError for values nested over ``depth``.
    ``spend`` is told how much work each part of the value is.
    """
    if isinstance(value, str):
        if spend is not None and len(value) > _FREE_TEXT:
            spend(len(value) // _FREE_TEXT)
        return value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return ("number", hex(value))
    if isinstance(value, float):
        # "nan" and "inf" come out of hex() as words, so that even NaN equals itself here.
        return ("number", hex(int(value)) if value.is_integer() else value.hex())
    if depth <= 0:
        raise RecursionError
    if spend is not None and isinstance(value, (list, dict)):
        spend(len(value))
    if isinstance(value, list):
        return ("array", tuple([identity(item, depth - 1, spend) for item in value]))
    if isinstance(value, dict):
        members = [(name, identity(item, depth - 1, spend)) for name, item in value.items()]
        return ("object", frozenset(members))
    raise UsageError(f"a {type(value).__name__} is not a JSON value")


def is_multiple(value: float, divisor: float) -> bool:
    """Whether ``value`` is a whole multiple of ``divisor``, both taken as the decimals they show.

    0.0075 is a multiple of 0.0001 although the nearest binary fractions are not. Infinity and
    NaN, which JSON does not have, are multiples of nothing.
    """
    if isinstance(value, int) and isinstance(divisor, int):
        return value % divisor == 0
    if isinstance(value, float) and not math.isfinite(value):
        return False
    digits, exponent = _decimal(value)
    divisor_digits, divisor_exponent = _decimal(divisor)
    shared = min(exponent, divisor_exponent)
    scaled = digits * 10 ** (exponent - shared)
    return bool(scaled % (divisor_digits * 10 ** (divisor_exponent - shared)) == 0)


def _decimal(number: float) -> tuple[int, int]:
    if isinstance(number, int):
        return number, 0
    mantissa, _, exponent = repr(number).partition("e")
    whole, _, fraction = mantissa.partition(".")
    return int(whole + fraction), int(exponent or 0) - len(fraction)


def describe(value: object) -> str:
    """A short text for a value of any size, for use inside a message."""
    if isinstance(value, str):
        return repr(value) if len(value) <= _SHOWN_TEXT else repr(value[:_SHOWN_TEXT])[:-1] + "…'"
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, list):
        return f"an array of {len(value)} items" if len(value) != 1 else "an array of 1 item"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, int) and value.bit_length() > _SHOWN_BITS:
        return f"an integer of {value.bit_length()} bits"
    return str(value)
