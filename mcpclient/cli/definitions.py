"""Names with what they mean beside them, as help shows commands and options."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap

from .render import Style, table, width_of

_MAX_NAME_WIDTH = 30


def definitions(rows: Iterable[tuple[str, str]], columns: int | None) -> str:
    """Return names with what they mean beside them, filled to a width: nothing is cut.

    A name that is too long for that stands on a line of its own.
    """
    rows = list(rows)
    if columns is None:
        return table((), rows, Style())
    longest = max((width_of(name) for name, _ in rows), default=0)
    beside = min(longest, _MAX_NAME_WIDTH, columns // 3)
    indent = " " * (beside + 2)
    lines: list[str] = []
    for name, meaning in rows:
        is_wide = width_of(name) > beside
        filled = wrap(meaning, columns, initial_indent=indent, subsequent_indent=indent)
        if is_wide or not filled:
            lines += wrap(name, columns)
        else:
            filled[0] = name + indent[width_of(name) :] + filled[0].lstrip()
        lines += filled
    return "\n".join(lines)
