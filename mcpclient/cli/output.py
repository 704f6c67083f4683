"""The standard streams, which may be closed, full, missing, or of another encoding."""

from __future__ import annotations

import errno
import os
import sys

TYPE_CHECKING = False  # see mcpclient/__init__.py
if TYPE_CHECKING:
    from typing import TextIO

USUAL_COLUMNS = 80
"""Of a terminal that does not report its width."""


def write_to(stream: TextIO | None, content: str | bytes) -> str | None:
    """Write text, or bytes unchanged, and flush. Return None, or the reason of a failure.

    Characters that the encoding lacks are escaped. A closed pipe (``| head``) is not a failure.
    """
    if stream is None:
        return "it is closed"
    try:
        if isinstance(content, bytes):
            stream.flush()
            stream.buffer.write(content)
        else:
            encoding = stream.encoding or "utf-8"
            stream.write(content.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except ValueError:  # Python's word for a stream that was closed
        return "it is closed"
    except OSError as error:
        # The descriptor itself is replaced, since Python flushes its streams once more at exit.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        # Windows reports EINVAL for a pipe whose other end is closed.
        is_pipe = sys.platform == "win32" and error.errno == errno.EINVAL
        is_reader_gone = is_pipe or isinstance(error, BrokenPipeError)
        return None if is_reader_gone else error.strerror or str(error)
    return None


def is_terminal(stream: TextIO | None) -> bool:
    """Whether the stream is a terminal; False if it is closed."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def columns_of(stream: TextIO | None) -> int | None:
    """Return how many columns of a terminal a line may take; None for other streams.

    They are its current width, or ``COLUMNS`` if set, but for the last one: a line that ends there
    is followed by an empty one on Windows, and by one that runs on when the window gets narrower.
    """
    if not is_terminal(stream):
        return None
    assert stream is not None
    # Importing contextlib for this would take a fifth of ``--version``.
    try:
        columns = int(os.environ.get("COLUMNS", ""))
    except ValueError:
        columns = 0
    if columns < 2:
        try:
            columns = os.get_terminal_size(stream.fileno()).columns
        except (OSError, ValueError):
            columns = USUAL_COLUMNS
    return (columns if columns > 1 else USUAL_COLUMNS) - 1
