"""Which file a program's name stands for, and through which links."""

from __future__ import annotations

import os
import shutil

_MAX_CHAIN = 40


def links_of(program: str, search_path: str | None = None) -> list[str]:
    """Return the paths that lead from a program's name to its file, the file itself last.

    ``search_path``: where a bare name is looked for instead of the ``PATH`` of this process. Empty
    when there is no such program.
    """
    try:
        found = shutil.which(program, path=search_path)
        if found is None:
            return []
        paths = [found]
        while os.path.islink(paths[-1]) and len(paths) < _MAX_CHAIN:
            paths.append(os.path.join(os.path.dirname(paths[-1]), os.readlink(paths[-1])))
        paths.append(os.path.realpath(found))
    except (OSError, ValueError):  # a name that no file has, or a loop of links
        return []
    return list(dict.fromkeys(paths))
