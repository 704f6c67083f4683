"""Transcripts, see `recording.transcript`, written while a client runs."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO

from ..framing.logs import logger_for
from ..jsonrpc.messages import Message
from ..recording.redaction import Redactor
from ..recording.transcript import HttpChannel, MessageLog, error_facts, header, write_line

if TYPE_CHECKING:
    from .recorder import Recorder, TraceTarget

_logger = logger_for("mcpclient.trace")

# How many recorders of this process write to a file, or have written.
_writers: Counter[str] = Counter()


class TraceWriter:
    """Writes everything that one client sends and receives, with secrets replaced.

    It writes to any number of targets, which may be added and removed at any time. A failure to
    write is logged once, and does not affect the client.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._targets: list[Callable[[str], Any]] = []
        self._redactor = Redactor(recorder.schemas)
        self._channels = 0
        self._complained = False
        self.learn(recorder.variables)

    def add(
        self, target: TraceTarget, recalled: Sequence[Message] = (), stderr: Sequence[str] = ()
    ) -> Callable[[], None]:
        """Write for one more target, from now on; the header of a connection comes first.

        ``recalled``: the request and the answer that opened the connection, from memory;
        ``stderr``: the earlier lines of the server process. Returns a function that removes the
        target; calling it twice does no harm.
        """
        write = _writing_to(target)
        if self._recorder.connection is not None:
            self._put(header(*self._recorder.connection), [write])
        for direction, message in zip(("sent", "received"), recalled):
            self.record(direction, "recalled", {"message": message}, [write])
        for line in stderr:
            self.record("received", "stderr", {"text": line, "recalled": True}, [write])
        self._targets.append(write)
        self._recorder.is_on = True

        def end() -> None:
            if write in self._targets:
                self._targets.remove(write)
            self._recorder.is_on = bool(self._targets)

        return end

    def header(self) -> None:
        """Write the header of the connection."""
        if self._recorder.connection is not None:
            self._put(header(*self._recorder.connection), self._targets)

    def record(
        self,
        direction: str,
        channel: str,
        facts: Mapping[str, Any],
        targets: Sequence[Callable[[str], Any]] | None = None,
    ) -> None:
        """Write one record, to all targets or to some."""
        if targets or self._targets:
            now = round(time.monotonic() - self._recorder.began, 6)
            value = {"time": now, "direction": direction, "channel": channel, **facts}
            self._put(value, targets or self._targets)

    def note_failure(self, channel: str, error: BaseException, **facts: Any) -> None:
        if self._targets:
            self.record("note", channel, {**facts, "error": error_facts(error, self._redactor)})

    def learn(self, variables: Mapping[str, str]) -> None:
        """Remember the secrets among variables."""
        self._redactor.learn(variables)

    def masked(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of a call without the arguments that are known to be secret."""
        return self._redactor.masked(params)

    def message_log(self, transport: str) -> MessageLog:
        """Begin the record of the messages over a transport, by its name."""
        return MessageLog(self, "websocket" if transport == "ws" else transport)

    def http_channel(self) -> HttpChannel:
        """Begin the record of a request and its response."""
        self._channels += 1
        return HttpChannel(self, f"http-{self._channels}")

    def _put(self, value: Mapping[str, Any], targets: Iterable[Callable[[str], Any]]) -> None:
        try:
            line = write_line(self._redactor.record(value))
        except Exception:
            self._complain()
            return
        for write in list(targets):
            try:
                write(line)
            except Exception:  # a full disk must not take the connection down
                self._complain()

    def _complain(self) -> None:
        if not self._complained:
            self._complained = True
            _logger.exception("the trace could not be written; this is logged only once")


def _writing_to(target: TraceTarget) -> Callable[[str], Any]:
    if callable(target):
        return partial(target)  # a function of its own, so that one target given twice is two

    path = os.path.abspath(target)
    _writers[path] += 1
    number = _writers[path]

    # Opened for each line, so that no line is lost, however the program ends.
    def append(line: str) -> None:
        if number > 1:  # the others' records may come between these
            line = line.replace("{", f'{{"connection": {number}, ', 1)
        with open_trace(target) as file:
            file.write(line)

    return append


def open_trace(path: str | os.PathLike[str]) -> TextIO:
    """Open a file to append a transcript to, for its owner only.

    A transcript may hold secrets that cannot be recognised. Raises `OSError`,
    also unless it is a regular file.
    """
    return open(path, "a", encoding="utf-8", newline="\n", opener=_open_privately)


def _open_privately(path: str, flags: int) -> int:
    from .files import make_private
    from .regular_files import open_regular

    descriptor = open_regular(path, flags)
    status = os.fstat(descriptor)
    # On Windows the mode tells nothing; there a file is made private when it is new.
    may_be_public = not status.st_size if os.name == "nt" else status.st_mode & 0o077
    if may_be_public:
        with suppress(OSError):  # it belongs to another user, who decides
            make_private(path)
    return descriptor
