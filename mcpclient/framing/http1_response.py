"""One HTTP/1.1 response, gathered as it arrives on a connection that serves one request only."""

from __future__ import annotations

from .http1 import BodyChunk, ResponseEnd, ResponseHead, ResponseParser


class GatheredResponse:
    """What has arrived of a response. Start its ``parser`` before the request is written.

    ``parser``: knows the `ResponseParser.fault`, and what came after the response. ``head``: None
    until it is complete. ``body``: the bytes so far, ``longest_body`` at most. ``is_complete``:
    whether the response has ended as it should.
    """

    def __init__(self, longest_body: int = 0) -> None:
        self.parser: ResponseParser = ResponseParser()
        self.head: ResponseHead | None = None
        self.body: bytearray = bytearray()
        self.is_complete: bool = False
        self._longest_body = longest_body

    def feed(self, data: bytes | None) -> ResponseHead | None:
        """Take the next bytes, or None for their end. Return the head when they complete it."""
        completed = None
        for event in self.parser.feed_eof() if data is None else self.parser.feed(data):
            if isinstance(event, BodyChunk):
                missing = self._longest_body - len(self.body)
                if missing > 0:
                    self.body += event.data[:missing]
            elif isinstance(event, ResponseHead):
                completed = self.head = event
            elif isinstance(event, ResponseEnd):
                self.is_complete = True
        return completed
