"""The conversation of a recorded session: each request of the client, with its outcome."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

from ..errors import safe_str
from ..framing.headers import Headers
from ..framing.sse import EventDecoder, ServerSentEvent
from ..jsonrpc.codec import MalformedMessage, decode
from ..jsonrpc.messages import Message, RequestId, plain_id
from ..protocol.listen import SUBSCRIPTION_ID
from ..protocol.wire_object import objects_in, value_at
from .transcript import Record, Transcript, bytes_of_event, bytes_of_payload

_NO_ANSWER = {"type": "ConnectionLost", "text": "the server ended without an answer"}


@dataclass
class Heard:
    """A message of the server's. ``answered``: it is a request, and the client answered it."""

    message: Message
    answered: bool = False


@dataclass(frozen=True)
class Rejected:
    """Output of the server that is not a message. ``error`` as in a transcript."""

    error: Mapping[str, Any]


@dataclass(frozen=True)
class Refused:
    """An HTTP status that is not a success. ``in_session``: the request named a session."""

    status: int
    headers: Headers
    body: bytes
    in_session: bool


@dataclass(frozen=True)
class Failed:
    """No answer will come. ``error`` as in a transcript; ``lost``: the connection is gone too."""

    error: Mapping[str, Any]
    lost: bool = False


Step = Union[Heard, Rejected, Refused, Failed]


@dataclass
class Call:
    """One request. ``steps``: the server's messages for it, the answer last, if there was one.

    ``after``: later ones, before the client asked anything else. ``sent_at`` and ``ended_at``
    are seconds since the header of the transcript.
    """

    request: Message
    sent_at: float
    steps: list[Step] = field(default_factory=list)
    after: list[Step] = field(default_factory=list)
    ended_at: float | None = None

    @property
    def seconds(self) -> float | None:
        """The duration in seconds, to the microsecond; None where it has no end."""
        return None if self.ended_at is None else round(self.ended_at - self.sent_at, 6)

    @property
    def answer(self) -> Message | None:
        """The answer, where there was one."""
        last = self.steps[-1] if self.steps and self.ended_at is not None else None
        return last.message if isinstance(last, Heard) else None


@dataclass
class Conversation:
    """All calls of a recording. ``before``: messages of the server before the first.

    ``never_opened``: why there was no connection.
    """

    calls: list[Call] = field(default_factory=list)
    before: list[Step] = field(default_factory=list)
    never_opened: Mapping[str, Any] | None = None


def read_calls(transcripts: Sequence[Transcript]) -> Conversation:
    """Return the conversation over all connections of a recording."""
    conversation = Conversation()
    for transcript in transcripts:
        reader = _Reader(conversation, transcript)
        for record in transcript.records:
            reader.take(record)
        reader.finish()
    return conversation


@dataclass
class _HttpChannel:
    method: str
    calls: list[Call]
    in_session: bool
    is_stream: bool = False
    decoder: EventDecoder = field(default_factory=EventDecoder)


class _Reader:
    def __init__(self, conversation: Conversation, transcript: Transcript) -> None:
        self._conversation = conversation
        self._is_legacy_sse = transcript.transport == "sse"
        self._target = safe_str(transcript.header.get("target", ""))
        self._time = 0.0
        self._calls: dict[RequestId, Call] = {}  # by id
        self._pending: dict[RequestId, Call] = {}  # those without an answer yet
        self._losses: dict[RequestId, Mapping[str, Any]] = {}  # what ended them, unless one comes
        self._asked: dict[RequestId, Heard] = {}  # requests of the server's
        self._last: Call | None = None
        self._channels: dict[str, _HttpChannel] = {}
        self._positions: dict[str, _HttpChannel] = {}  # by event id

    def take(self, record: Record) -> None:
        self._time = record["time"]
        if record["channel"].startswith("http-"):
            self._take_http(record)
        elif record["channel"] != "stderr":
            self._take_plain(record)

    def finish(self) -> None:
        for request_id, error in self._losses.items():
            if request_id in self._pending:
                self._end(request_id, Failed(error))

    # Transports of one channel

    def _take_plain(self, record: Record) -> None:
        if record["direction"] == "note":
            self._take_note(record)
        elif "http" in record or record.get("frame", "binary") != "binary":
            return  # the opening of a WebSocket, or what keeps and ends it
        elif record["direction"] == "sent":
            for message in _messages_in(bytes_of_payload(record)):
                self._sent(message)
        elif "end" in record:
            self._lose_all(_NO_ANSWER)
        else:
            self._take_payload(bytes_of_payload(record), [])

    def _take_note(self, record: Record) -> None:
        error = record.get("error")
        if "abandoned" in record:
            self._pending.pop(_id_of(record, "abandoned"), None)
        elif error is None:
            return
        elif "end" in record:
            self._lose_all(error)
        elif "answers" in record:
            self._end(_id_of(record, "answers"), Failed(error))
        elif error.get("type") == "ProtocolViolation":
            self._came(Rejected(error), [])

    def _lose_all(self, error: Mapping[str, Any]) -> None:
        if error is not _NO_ANSWER and not self._calls:
            self._conversation.never_opened = error
        for request_id in list(self._pending):
            self._end(request_id, Failed(error, lost=True))

    # HTTP

    def _take_http(self, record: Record) -> None:
        if record["direction"] == "sent":
            if "http" in record:
                self._channels[record["channel"]] = self._http_request(record)
            return
        channel = self._channels.get(record["channel"])
        if channel is None:
            return
        head = record.get("http")
        if head is not None:
            self._take_head(head, record, channel)
        elif channel.is_stream:
            self._take_events(bytes_of_event(record), channel)
        if "end" in record:
            self._take_end(record, channel)

    def _http_request(self, record: Record) -> _HttpChannel:
        headers = _headers_of(record["http"])
        messages = list(_messages_in(bytes_of_payload(record)))
        calls = [call for call in map(self._sent, messages) if call is not None]
        continued = self._positions.get(headers.get("last-event-id", ""))
        if continued is not None:
            calls = continued.calls
        return _HttpChannel(record["http"]["method"], calls, "mcp-session-id" in headers)

    def _take_head(self, head: Mapping[str, Any], record: Record, channel: _HttpChannel) -> None:
        headers, status = _headers_of(head), head["status"]
        content_type = headers.get("content-type", "").lower()
        channel.is_stream = status == 200 and content_type.startswith("text/event-stream")
        body = bytes_of_payload(record)
        is_opening = self._is_legacy_sse and channel.method == "GET" and not self._calls
        if is_opening and status != 200:
            error = {"type": "HttpError", "status": status, "headers": head["headers"]}
            text = body.decode("utf-8", "replace")
            self._conversation.never_opened = {**error, "body": text, "url": self._target}
        if channel.is_stream or channel.method != "POST":
            return
        if not 200 <= status < 300:
            for call in channel.calls:
                refused = Refused(status, headers, body, channel.in_session)
                self._end(_id_of(call.request), refused)
        elif body and status != 202 and not self._is_legacy_sse:  # else it is a mere receipt
            self._take_payload(body, channel.calls)

    def _take_events(self, data: bytes, channel: _HttpChannel) -> None:
        for event in channel.decoder.feed(data):
            if isinstance(event, ServerSentEvent) and event.event == "message" and event.data:
                self._take_payload(event.data.encode("utf-8", "surrogatepass"), channel.calls)
        if channel.decoder.last_event_id:
            self._positions[channel.decoder.last_event_id] = channel

    def _take_end(self, record: Record, channel: _HttpChannel) -> None:
        error = record.get("error") or _NO_ANSWER
        if self._is_legacy_sse and channel.method == "GET":
            self._lose_all(error)
        elif record.get("error") or channel.is_stream or not self._is_legacy_sse:
            for call in channel.calls:
                self._losses[_id_of(call.request)] = error

    # What was said

    def _sent(self, message: Message) -> Call | None:
        """Handle a message of the client; return the call if it is a request."""
        request_id = _id_of(message)
        if "method" not in message:
            asked = self._asked.pop(request_id, None)
            if asked is not None:
                asked.answered = True
            return None
        if "id" not in message:
            if message["method"] == "notifications/cancelled":
                self._pending.pop(_id_of(message.get("params"), "requestId"), None)
            return None
        call = self._calls.get(request_id)
        # One that was refused or lost before is the same, as before a login.
        last = call.steps[-1] if call is not None and call.steps else None
        is_over = isinstance(last, (Heard, Rejected))
        if call is None or is_over or call.request["method"] != message["method"]:
            call = Call(message, self._time)
            self._conversation.calls.append(call)
        call.steps.clear()
        call.ended_at = None
        self._calls[request_id] = self._pending[request_id] = call
        self._losses.pop(request_id, None)
        return call

    def _take_payload(self, payload: bytes, owners: list[Call]) -> None:
        try:
            value = decode(payload)
        except MalformedMessage as error:
            text = f"the server sent a message that is {error.reason}"
            violation = {"type": "ProtocolViolation", "text": text}
            named = _id_of({"id": error.request_id})
            if named in self._pending:
                self._end(named, Failed(violation))
            elif len(owners) == 1:
                self._end(_id_of(owners[0].request), Failed(violation))
            else:
                self._came(Rejected(violation), owners)
            return
        for message in objects_in(value if isinstance(value, list) else [value]):
            self._received(message, owners)

    def _received(self, message: Message, owners: list[Call]) -> None:
        heard = Heard(message)
        if "method" in message:
            if "id" in message:
                self._asked[_id_of(message)] = heard
            self._came(heard, owners, message.get("params"))
            return
        waiting = owners or list(self._pending.values())
        is_nameless = message.get("id") is None and len(waiting) == 1
        self._end(_id_of(waiting[0].request if is_nameless else message), heard)

    def _came(self, step: Step, owners: list[Call], params: Any = None) -> None:
        """Handle a message that is not a response: add it to the call it most likely belongs to."""
        call = self._call_named_in(params) or (owners[-1] if owners else None)
        if call is None and self._pending:
            call = list(self._pending.values())[-1]
        if call is not None and call.ended_at is None:
            call.steps.append(step)
        elif self._last is not None:
            self._last.after.append(step)
        else:
            self._conversation.before.append(step)

    def _call_named_in(self, params: Any) -> Call | None:
        if not isinstance(params, dict):
            return None
        token = plain_id(params.get("progressToken"))
        for call in self._pending.values():
            if token is not None and plain_id(progress_token_of(call.request)) == token:
                return call
        return self._pending.get(_id_of(params.get("_meta"), SUBSCRIPTION_ID))

    def _end(self, request_id: RequestId, step: Step) -> None:
        call = self._pending.pop(request_id, None)
        if call is not None:
            call.steps.append(step)
            call.ended_at = self._time
            self._last = call


def progress_token_of(request: Message) -> Any:
    """Return the progress token of a request; None where there is none."""
    return value_at(request, ("params", "_meta", "progressToken"))


def _id_of(value: Any, name: str = "id") -> RequestId:
    """Return the id in an object; for a value that is not an id, a string that no id equals."""
    found = value.get(name) if isinstance(value, dict) else None
    request_id = plain_id(found)
    return f"no id: {found!r}" if request_id is None else request_id


def _messages_in(payload: bytes) -> Iterator[Message]:
    try:
        value = decode(payload) if payload else []
    except MalformedMessage:
        return
    for message in objects_in(value if isinstance(value, list) else [value]):
        if "jsonrpc" in message and isinstance(message.get("method", ""), str):
            yield message


def _headers_of(head: Mapping[str, Any]) -> Headers:
    return Headers([(safe_str(name), safe_str(value)) for name, value in head.get("headers", ())])
