"""Long texts in files of their own, for those who read them piece by piece."""

from __future__ import annotations

import os
import tempfile


def save_text(text: str) -> str:
    """Write ``text`` in UTF-8 to a new temporary file of mode 0600 and return its path.

    The file stays; the system clears its folder for temporary files. Raises `OSError`.
    """
    descriptor, path = tempfile.mkstemp(prefix="mcpclient-", suffix=".txt")
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline="") as file:
        file.write(text)
    return path
