"""Reading transcripts from files, see `recording.transcript`."""

from __future__ import annotations

import os

from ..errors import UsageError
from ..recording.transcript import Transcript, read_transcripts

__all__ = ["read_recording"]


def read_recording(path: str | os.PathLike[str]) -> list[Transcript]:
    """Read a file of transcripts. Raises `UsageError` when it cannot be read, or is none."""
    try:
        with open(path, encoding="utf-8") as file:
            return read_transcripts(file)
    except (OSError, UnicodeError) as error:
        raise UsageError(f"cannot read the recording {os.fspath(path)!r}: {error}") from None
