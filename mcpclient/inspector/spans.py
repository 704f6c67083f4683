"""The requests of a client over time: what belongs to each, and how it ended."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from ..protocol.faults import Fault

_MAX_SPANS = 5_000
_MAX_STEPS = 200


@dataclass
class Question:
    """A request of the server during a call, with the number of its record, until its answer."""

    number: int
    method: str
    began: float
    ended: float | None = None


@dataclass
class Span:
    """One request of the client, from its record ``number`` to its end.

    ``call``: the page's call that it was made for, or an empty string. ``began`` and ``ended``:
    seconds as in its records. ``end``: the number of the record that ended it. ``state``:
    ``running``, ``done``, ``failed``, ``cancelled`` or ``lost``, or ``resent``, as after a login:
    another span has its id. ``progress``: when the server
    reported some. ``questions``: of the server meanwhile. ``faults``: of all messages that belong
    to it.
    """

    number: int
    method: str
    subject: str
    began: float
    channel: str
    call: str = ""
    at: float | None = None
    end: int | None = None
    ended: float | None = None
    state: str = "running"
    progress: list[float] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    version: int = 0


def concerns_span(message: Any) -> bool:
    """Whether a message of the server, not a response, is part of a span: most are not."""
    return isinstance(message, dict) and (
        message.get("method") == "notifications/progress" or "id" in message
    )


class Spans:
    """The latest 5,000 spans of one server. Every change of one has a version, as on a board."""

    def __init__(self) -> None:
        self.version: int = 0
        self._latest: OrderedDict[int, Span] = OrderedDict()  # the last changed at the end
        self._by_id: dict[str, Span] = {}  # of this connection
        self._by_token: dict[str, Span] = {}
        self._by_channel: dict[str, Span] = {}
        self._questions: dict[str, tuple[Span, Question]] = {}
        self._running: dict[int, Span] = {}

    def since(self, version: int, most: int = _MAX_SPANS) -> list[Span]:
        """Return the spans that changed after ``version``, the latest ``most`` of them."""
        changed: Iterator[Span] = (each for each in reversed(self._latest.values()))
        return [each for each in islice(changed, most) if each.version > version][::-1]

    def in_order(self) -> list[Span]:
        """Return the spans by their numbers, without those that were sent again."""
        kept = [each for each in self._latest.values() if each.state != "resent"]
        return sorted(kept, key=lambda each: each.number)

    def get(self, number: int) -> Span | None:
        """Return the span that the record of this number began."""
        return self._latest.get(number)

    def connection_began(self, time: float) -> None:
        """Forget the ids of the connection before."""
        self.lose(time, None)
        for known in (self._by_id, self._by_token, self._by_channel, self._questions):
            known.clear()

    def begin(self, span: Span, request: Mapping[str, Any]) -> None:
        """Add the span of a request that is sent."""
        before = self._by_id.get(repr(request.get("id")))
        if before is not None and before.state in ("failed", "lost"):
            before.state = "resent"
            self._change(before)
        self._by_id[repr(request.get("id"))] = self._running[span.number] = span
        params = request.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        if isinstance(meta, dict) and "progressToken" in meta:
            self._by_token[repr(meta["progressToken"])] = span
        if span.channel.startswith("http-"):
            self._by_channel[span.channel] = span
        self._change(span)
        if len(self._latest) > _MAX_SPANS:
            number, _ = self._latest.popitem(last=False)
            self._running.pop(number, None)

    def answered(self, question: object, time: float) -> None:
        """End the question of the server with this id, which the client answers."""
        span, asked = self._questions.pop(repr(question), (None, None))
        if span is not None and asked is not None:
            asked.ended = time
            self._change(span)

    def received(self, span: Span, message: Mapping[str, Any], time: float, number: int) -> None:
        """Add a notification or a question of the server to the span that it belongs to."""
        method = message.get("method")
        if method == "notifications/progress" and len(span.progress) < _MAX_STEPS:
            span.progress.append(time)
        elif "id" in message and len(span.questions) < _MAX_STEPS:
            asked = Question(number, str(method), time)
            span.questions.append(asked)
            self._questions[repr(message["id"])] = span, asked
        else:
            return
        self._change(span)

    def owner(self, channel: str, message: Any) -> Span | None:
        """Return the span that something from the server most likely belongs to."""
        if isinstance(message, dict):
            params = message.get("params")
            if isinstance(params, dict) and repr(params.get("progressToken")) in self._by_token:
                return self._by_token[repr(params.get("progressToken"))]
            if "method" not in message and repr(message.get("id")) in self._by_id:
                return self._by_id[repr(message.get("id"))]
        latest = next(reversed(self._running.values()), None)
        return self._by_channel.get(channel, latest)

    def blame(self, span: Span | None, faults: Sequence[Fault]) -> None:
        """Add faults to a span."""
        if span is not None and faults:
            span.faults = [*span.faults, *faults][:_MAX_STEPS]
            self._change(span)

    def end(self, span: Span | None, state: str, time: float, number: int | None) -> None:
        """End a span, unless it has ended."""
        if span is not None and self._running.pop(span.number, None) is not None:
            span.state, span.ended, span.end = state, time, number
            self._change(span)

    def end_named(self, name: object, state: str, time: float, number: int | None) -> None:
        """End the span of the request with this id."""
        self.end(self._by_id.get(repr(name)), state, time, number)

    def end_channel(self, channel: str, state: str, time: float, number: int) -> None:
        """End the span of the request that was sent over this channel of HTTP."""
        self.end(self._by_channel.get(channel), state, time, number)

    def lose(self, time: float, number: int | None) -> None:
        """End all spans, whose connection is lost."""
        for span in list(self._running.values()):
            self.end(span, "lost", time, number)

    def _change(self, span: Span) -> None:
        self.version += 1
        span.version = self.version
        self._latest[span.number] = span
        self._latest.move_to_end(span.number)
