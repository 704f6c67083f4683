"""Errors of a login without the variables of the code that raised them.

Services that collect errors send the variables of every frame, and those of a login are tokens,
codes and secrets. The lines stay, so that a traceback still says where.
"""

from __future__ import annotations

from contextlib import suppress
from types import FrameType

_PACKAGE = __name__.rpartition(".client.")[0]


def forget_variables(error: BaseException) -> None:
    """Clear the variables of the library's frames that an error, or what led to it, came through.

    Frames that still run keep theirs, and so do those of other code.
    """
    seen: set[int] = set()
    chain: list[BaseException | None] = [error]
    while chain:
        link = chain.pop()
        if link is None or id(link) in seen:
            continue
        seen.add(id(link))
        chain += (link.__cause__, link.__context__)
        entry = link.__traceback__
        while entry is not None:
            if _is_ours(entry.tb_frame):
                with suppress(RuntimeError):  # it still runs
                    entry.tb_frame.clear()
            entry = entry.tb_next


def _is_ours(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__", "")
    return isinstance(name, str) and name.startswith(f"{_PACKAGE}.")
