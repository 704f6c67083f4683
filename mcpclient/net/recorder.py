"""Transcripts in files, see `recording.transcript`: written while a client is at work, and read."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Callable, TextIO, Union

from .. import __version__
from ..errors import UsageError
from ..framing.http1 import ResponseHead
from ..framing.logs import logger_for
from ..jsonrpc.messages import Message
from ..recording.recorded_errors import error_facts
from ..recording.redaction import Redactor
from ..recording.transcript import (
    TRANSCRIPT_VERSION,
    Transcript,
    event_blocks,
    event_facts,
    payload_facts,
    read_transcripts,
    write_line,
)

__all__ = ["HttpChannel", "Recorder", "TraceTarget", "open_trace", "read_recording"]

_logger = logger_for("mcpclient.trace")

TraceTarget = Union[str, "os.PathLike[str]", Callable[[str], Any]]
"""A file to append to, or a function that takes a transcript line by line, line ends included."""


class Recorder:
    """Writes down what one client sends and receives, secrets replaced.

    It writes to any number of targets, which may come and go while the client is at work; without
    one it does nothing. What cannot be written is lost, which is logged once and harms nothing
    else.
    """

    def __init__(self, target: TraceTarget | None = None) -> None:
        self._targets: list[Callable[[str], Any]] = []
        self._redactor = Redactor()
        self._header: dict[str, Any] | None = None
        self._began = time.monotonic()
        self._channels = 0
        self._complained = False
        if target is not None:
            self._targets.append(_writing_to(target))
        self.is_on: bool = target is not None
        """Whether there is anybody to write for."""

    def add(self, target: TraceTarget, recalled: Sequence[Message] = ()) -> Callable[[], None]:
        """Write for one more target, from now on; the header of a connection comes first.

        ``recalled``: the request and the answer that opened the connection, from memory. Returns a
        function that ends it; to call it twice does no harm.
        """
        write = _writing_to(target)
        if self._header is not None:
            self._put(self._header, [write])
        for direction, message in zip(("sent", "received"), recalled):
            now = round(time.monotonic() - self._began, 6)
            facts = {"channel": "recalled", "message": message}
            self._put({"time": now, "direction": direction, **facts}, [write])
        self._targets.append(write)
        self.is_on = True

        def end() -> None:
            if write in self._targets:
                self._targets.remove(write)
            self.is_on = bool(self._targets)

        return end

    def begin(self, transport: str, target: str) -> None:
        """Write the header of a connection."""
        self._began = time.monotonic()
        self._header = {
            "transcript": TRANSCRIPT_VERSION,
            "transport": transport,
            "target": target,
            "recorded": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "by": f"mcpclient {__version__}",
        }
        self._put(self._header, self._targets)

    def record(self, direction: str, channel: str, facts: Mapping[str, Any]) -> None:
        """Write one record."""
        if not self._targets:
            return
        now = round(time.monotonic() - self._began, 6)
        record = {"time": now, "direction": direction, "channel": channel, **facts}
        self._put(record, self._targets)

    def note_failure(self, channel: str, error: BaseException, **facts: Any) -> None:
        """Write a note of a failure."""
        if not self._targets:
            return
        self.record("note", channel, {**facts, "error": error_facts(error, self._redactor)})

    def stderr_line(self, line: str) -> None:
        """Write a line that the server process wrote to its stderr."""
        self.record("received", "stderr", {"text": line})

    def learn(self, variables: Mapping[str, str]) -> None:
        """Take note of the secrets among variables, which may turn up in any text."""
        texts = [pair for pair in variables.items() if all(isinstance(one, str) for one in pair)]
        self._redactor.learn(dict(texts))

    def http_channel(self) -> HttpChannel:
        """Begin the record of a request and its response."""
        self._channels += 1
        return HttpChannel(self, f"http-{self._channels}")

    def _put(self, value: Mapping[str, Any], targets: Iterable[Callable[[str], Any]]) -> None:
        try:
            line = write_line(self._redactor.record(value)) if targets else ""
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
    # Opened for each line: so nothing is left open, or unwritten, however the program ends.
    def append(line: str) -> None:
        with open_trace(path) as file:
            file.write(line)

    def call(line: str) -> None:
        function(line)

    if callable(target):
        function = target
        return call  # a function of its own, so that one target given twice is two
    path = target
    return append


def open_trace(path: str | os.PathLike[str]) -> TextIO:
    """Open a file to append a transcript to, for its owner only (mode 0600). Raises OSError.

    A transcript is what was said: not every secret in it can be known for one.
    """
    return open(path, "a", encoding="utf-8", newline="\n", opener=_open_privately)


def _open_privately(path: str, flags: int) -> int:
    descriptor = os.open(path, flags, 0o600)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode) and mode & 0o077 and os.name != "nt":
        with suppress(OSError):  # it belongs to somebody else, who decides
            os.chmod(path, 0o600)
    return descriptor


def read_recording(path: str | os.PathLike[str]) -> list[Transcript]:
    """Read a file of transcripts. Raises `UsageError` when it cannot be read, or is none."""
    try:
        with open(path, encoding="utf-8") as file:
            return read_transcripts(file)
    except (OSError, UnicodeError) as error:
        raise UsageError(f"cannot read the recording {os.fspath(path)!r}: {error}") from None


class HttpChannel:
    """The record of one request and its response."""

    def __init__(self, recorder: Recorder, name: str) -> None:
        self.name = name
        self.ended: bool = False
        self._recorder = recorder
        self._head: dict[str, Any] | None = None
        self._is_stream = False
        self._body = bytearray()

    def sent(self, message: bytes) -> None:
        """Write down a request, given as it goes out."""
        head, _, body = message.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = [line.split(": ", 1) for line in lines]
        facts: dict[str, Any] = {"http": {"method": method, "target": target, "headers": headers}}
        self._recorder.record("sent", self.name, {**facts, **(payload_facts(body) if body else {})})

    def head_received(self, head: ResponseHead) -> None:
        """Take the head of the response, which is written with its body.

        Where there is none to wait for, as in a stream or behind a 101, it is written at once.
        """
        headers = [[name, value] for name, value in head.headers.pairs()]
        self._head = {"http": {"status": head.status, "reason": head.reason, "headers": headers}}
        content_type = head.headers.get("content-type", "").lower()
        self._is_stream = content_type.startswith("text/event-stream")
        if self._is_stream or head.status == 101:
            self._flush({})

    def body_received(self, data: bytes) -> None:
        """Take a piece of the body; the events it completes are written."""
        searched = len(self._body)
        self._body += data
        if self._is_stream:
            for block in event_blocks(self._body, searched):
                self._recorder.record("received", self.name, event_facts(block))

    def end(self, how: str = "complete", error: BaseException | None = None) -> None:
        """Write what has not been written yet, and how the response ended. Idempotent."""
        if self.ended:
            return
        self.ended = True
        if error is not None:
            self._flush({})
            self._recorder.note_failure(self.name, error, end=how)
        elif how == "complete":
            self._flush({"end": how})
        else:
            self._flush({})
            self._recorder.record("sent" if how == "closed" else "note", self.name, {"end": how})

    def _flush(self, facts: Mapping[str, Any]) -> None:
        body, self._body = bytes(self._body), bytearray()
        head, self._head = self._head or {}, None
        full = {**head, **(payload_facts(body) if body else {}), **facts}
        if full:
            self._recorder.record("received", self.name, full)
