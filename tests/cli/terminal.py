"""Commands and shells in a real pseudo-terminal: keys go in, and the output is waited for."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.subprocesses import TOP

if sys.platform != "win32":
    import fcntl
    import pty
    import struct
    import termios

# Real seconds until something that was expected counts as missing.
_LONGEST = 30.0
_ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


class Session:
    """A process in a terminal. ``shown``: all of its output so far."""

    def __init__(self, master: int, process: subprocess.Popen[bytes], is_plain: bool) -> None:
        self.shown = ""
        self.process = process
        self._master = master
        self._is_plain = is_plain
        self._seen = 0

    def wait_for(self, text: str) -> str:
        """Wait until this is shown after the last match; return the output in between."""
        limit = time.monotonic() + _LONGEST
        while text not in self.shown[self._seen :]:
            assert time.monotonic() < limit, self.shown
            assert self._read(), self.shown
        start = self._seen
        self._seen = self.shown.index(text, start) + len(text)
        return self.shown[start : self._seen]

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def reply(self, prompt: str, text: str) -> str:
        """Type a string once something is shown; return what came till then."""
        shown = self.wait_for(prompt)
        self.type(text)
        return shown

    def end(self) -> int:
        """Read to the end; return the exit code."""
        while self._read():
            pass
        return self.process.wait(_LONGEST)

    def resize(self, columns: int) -> None:
        _resize(self._master, columns)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], _LONGEST)
        try:
            piece = os.read(self._master, 65536) if ready else b""
        except OSError:  # Linux's way to say that the other side is closed
            piece = b""
        shown = _ESCAPES.sub(b"", piece).replace(b"\r", b"") if self._is_plain else piece
        self.shown += shown.decode("utf-8", "replace")
        return bool(piece)


def _resize(terminal: int, columns: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


def own_terminal() -> None:
    """Have the keys of the terminal send signals to this process, and no others."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@contextmanager
def in_terminal(
    command: Sequence[str],
    environ: Mapping[str, str],
    *,
    columns: int = 80,
    is_plain: bool = False,
    **options: Any,
) -> Iterator[Session]:
    """Run a command in a terminal of its own, with the ``options`` of `Popen`.

    ``is_plain``: leave escape sequences and carriage returns out of the output.
    """
    master, slave = pty.openpty()
    _resize(slave, columns)
    process = subprocess.Popen(
        command,
        env=environ,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        **options,
    )
    os.close(slave)
    try:
        yield Session(master, process, is_plain)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(master)


@contextmanager
def terminal(
    *words: str,
    columns: int = 80,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Iterator[Session]:
    """Run a command of this package in a terminal of its own; ``environ``: more variables."""
    own = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "BROWSER", "DISPLAY")}
    own.update({"TERM": "xterm", "PYTHONPATH": str(TOP), **(environ or {})})
    command = [sys.executable, "-m", "mcpclient", *words]
    with in_terminal(command, own, columns=columns, cwd=cwd) as session:
        yield session
