"""The records of one HTTP request and its response; see `recording.transcript`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ..framing.http1 import ResponseHead
from .transcript import event_blocks, event_facts, payload_facts


class Records(Protocol):
    """What takes records: a `net.recorder.Recorder`."""

    def record(self, direction: str, channel: str, facts: Mapping[str, Any]) -> None:
        """Write one record."""

    def note_failure(self, channel: str, error: BaseException, **facts: Any) -> None:
        """Write a note of a failure."""


class HttpChannel:
    """The record of one request and its response."""

    def __init__(self, recorder: Records, name: str) -> None:
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
