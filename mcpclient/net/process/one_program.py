"""One program that is given something to read, and is waited for."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from contextlib import suppress

from ...errors import UsageError
from ..thread_calls import call_in_thread

__all__ = ["run_program"]


async def run_program(
    words: Sequence[str], content: bytes, *, keeps_output: bool = False
) -> tuple[int, bytes]:
    """Run a program with ``content`` on its stdin; return its exit code and what it wrote.

    ``words``: the program and its arguments, exactly as it gets them: there is no shell between.
    With ``keeps_output`` it writes to our own stdout, and nothing is returned of that; its stderr
    is always ours. Raises `UsageError` when it cannot be started. Cancelling kills it.
    """
    process = _started(words, None if keeps_output else subprocess.PIPE)
    try:
        written, _ = await call_in_thread(lambda: process.communicate(content))
    except BaseException:
        with suppress(OSError):
            process.kill()
        raise
    return process.returncode, written or b""


def _started(words: Sequence[str], stdout: int | None) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(list(words), stdin=subprocess.PIPE, stdout=stdout)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"cannot run {words[0]!r}: {reason}") from None
