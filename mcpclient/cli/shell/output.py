"""Where an answer goes that is not shown: a file, or one program."""

from __future__ import annotations

import os

from ...errors import UsageError
from ...framing.escaping import escape
from ...net.process.programs import run_program
from ...net.regular_files import write_file
from ..screen import Screen
from .outcome import Finding
from .words import Line


async def send_on(finding: Finding, line: Line, screen: Screen) -> Finding:
    """Send what was found where the line says; return what is left to show.

    What failed is shown and not sent. Raises `UsageError` for a file that cannot be written, or a
    program that cannot be started.
    """
    if finding.exit_code:
        return finding
    if line.file is not None:
        _write(line.file, finding.as_bytes)
        return Finding(value=finding.value)
    if line.program:
        keeps_output = screen.is_terminal
        screen.status.erase()
        code, written = await run_program(line.program, finding.as_bytes, keeps_output=keeps_output)
        text = escape(written.decode("utf-8", "replace")).rstrip("\n")
        if code:
            text += (
                f"{chr(10) if text else ''}{escape(line.program[0])} ended with exit code {code}"
            )
        return Finding(text, written, finding.value, code if code >= 0 else 128 - code)
    return finding


def _write(path: str, content: bytes) -> None:
    try:
        write_file(os.path.expanduser(path), content)
    except OSError as error:
        raise UsageError(f"cannot write {path!r}: {error.strerror or error}") from None
