"""Reading transcripts from files, see `recording.transcript`."""

from __future__ import annotations

import os

from ..errors import UsageError
from ..recording.transcript import Transcript, read_transcripts
from .regular_files import open_regular

MAX_RECORDING_SIZE = 512 * 1024 * 1024
"""How many bytes of a recording are read; in memory it is several times as large."""


def read_recording(path: str | os.PathLike[str]) -> list[Transcript]:
    """Read a file of transcripts. Raises `UsageError` when it is not one, or cannot be read."""
    try:
        with open(open_regular(path, limit=MAX_RECORDING_SIZE), encoding="utf-8") as file:
            return read_transcripts(file)
    except (OSError, UnicodeError) as error:
        reason = str((isinstance(error, OSError) and error.strerror) or error)
        raise UsageError(f"cannot read the recording {os.fspath(path)!r}: {reason}") from None
