"""Values that are nested deeper than a page, or the interpreter, could follow."""

from __future__ import annotations

from typing import Any

_MAX_LEVELS = 200
_TOO_DEEP = "… nested too deeply to be shown"


def without_depths(value: Any, levels: int = _MAX_LEVELS) -> Any:
    """Return a JSON value; what is nested deeper than ``levels`` is replaced by a text.

    A value that is not is returned itself. What a server sends may just fit the interpreter's
    limit when it is read, and not any more when it is compared or written, on a fuller stack.
    """
    return _copy(value, levels) if _is_deeper(value, levels) else value


def _is_deeper(value: Any, levels: int) -> bool:
    row = [value]
    for _ in range(levels + 1):
        row = [item for each in row for item in _items(each)]
        if not row:
            return False
    return True


def _items(value: Any) -> Any:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _copy(value: Any, levels: int) -> Any:
    copies: list[Any] = [None]
    waiting: list[tuple[Any, Any, Any, int]] = [(copies, 0, value, levels)]
    while waiting:
        holder, place, item, left = waiting.pop()
        if not isinstance(item, (dict, list)):
            holder[place] = item
        elif left == 0 and item:
            holder[place] = _TOO_DEEP
        elif isinstance(item, dict):
            holder[place] = copied = dict.fromkeys(item)
            waiting += ((copied, name, each, left - 1) for name, each in item.items())
        else:
            holder[place] = listed = [None] * len(item)
            waiting += ((listed, index, each, left - 1) for index, each in enumerate(item))
    return copies[0]
