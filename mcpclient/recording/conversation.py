"""The conversation of a recorded session, and the script that a replay makes of it."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

from ..errors import NotRecorded, UsageError, safe_str
from ..framing.headers import Headers
from ..framing.sse import EventDecoder, ServerSentEvent
from ..jsonrpc import messages
from ..jsonrpc.codec import MalformedMessage, decode
from ..jsonrpc.messages import ErrorCode, Message, RequestId, plain_id
from ..protocol.listen import SUBSCRIPTION_ID
from ..protocol.wire_object import objects_in, value_at
from .redaction import REDACTED_NAME, Redactor
from .transcript import Record, Transcript, bytes_of_event, bytes_of_payload, message_of

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
            reader.read(record)
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

    def read(self, record: Record) -> None:
        self._time = record["time"]
        if record["channel"].startswith("http-"):
            self._read_http(record)
        elif record["channel"] != "stderr":
            self._read_plain(record)

    def finish(self) -> None:
        for request_id, error in self._losses.items():
            if request_id in self._pending:
                self._end(request_id, Failed(error))

    # Transports of one channel

    def _read_plain(self, record: Record) -> None:
        if record["direction"] == "note":
            self._read_note(record)
        elif "http" in record or record.get("frame", "binary") != "binary":
            return  # the opening of a WebSocket, or what keeps and ends it
        elif record["direction"] == "sent":
            for message in _messages_in(record):
                self._sent(message)
        elif "end" in record:
            self._lose_all(_NO_ANSWER)
        else:
            self._read_payload(bytes_of_payload(record), [])

    def _read_note(self, record: Record) -> None:
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

    def _read_http(self, record: Record) -> None:
        if record["direction"] == "sent":
            if "http" in record:
                self._channels[record["channel"]] = self._http_request(record)
            return
        channel = self._channels.get(record["channel"])
        if channel is None:
            return
        head = record.get("http")
        if head is not None:
            self._read_head(head, record, channel)
        elif channel.is_stream:
            self._read_events(bytes_of_event(record), channel)
        if "end" in record:
            self._read_end(record, channel)

    def _http_request(self, record: Record) -> _HttpChannel:
        headers = _headers_of(record["http"])
        messages = list(_messages_in(record))
        calls = [call for call in map(self._sent, messages) if call is not None]
        continued = self._positions.get(headers.get("last-event-id", ""))
        if continued is not None:
            calls = continued.calls
        return _HttpChannel(record["http"]["method"], calls, "mcp-session-id" in headers)

    def _read_head(self, head: Mapping[str, Any], record: Record, channel: _HttpChannel) -> None:
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
            self._read_payload(body, channel.calls)

    def _read_events(self, data: bytes, channel: _HttpChannel) -> None:
        for event in channel.decoder.feed(data):
            if isinstance(event, ServerSentEvent) and event.event == "message" and event.data:
                self._read_payload(event.data.encode("utf-8", "surrogatepass"), channel.calls)
        if channel.decoder.last_event_id:
            self._positions[channel.decoder.last_event_id] = channel

    def _read_end(self, record: Record, channel: _HttpChannel) -> None:
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

    def _read_payload(self, payload: bytes, owners: list[Call]) -> None:
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


def _messages_in(record: Record) -> Iterator[Message]:
    value = message_of(record)
    for message in objects_in(value if isinstance(value, list) else [value]):
        if "jsonrpc" in message and isinstance(message.get("method", ""), str):
            yield message


def _headers_of(head: Mapping[str, Any]) -> Headers:
    return Headers([(safe_str(name), safe_str(value)) for name, value in head.get("headers", ())])


READY = "notifications/initialized"
"""The client is ready: from then on a server may speak unasked."""

# These open a connection, and say who asks; whoever asks may have changed since the recording.
_OPENING = frozenset({"initialize", "server/discover"})


@dataclass(frozen=True)
class Reply:
    """The reply to a request: ``steps`` at once, and ``later`` after `READY`.

    ``call``: what was recorded; None for a refusal that was not.
    """

    call: Call | None
    steps: Sequence[Step]
    later: Sequence[Step] = ()


class Script:
    """A finder of the recorded reply to a request.

    ``name``: the recording's, for messages. ``match``: what of a request has to be the same,
    see `Recording`. Raises `UsageError`.
    """

    def __init__(
        self, name: str, calls: Sequence[Call], match: Sequence[str] = ("method", "params")
    ) -> None:
        self._name = name
        self._order = calls
        self._compared = _paths_in(match)
        self._redactor = Redactor()
        self._calls: dict[tuple[str, str], list[Call]] = {}
        self._found: dict[tuple[str, str], int] = {}
        self._passed: set[int] = set()  # the identities of the calls that were found
        for call in calls:
            self._redactor.unmarked(call.answer)  # lists the arguments that are marked as secret
            params = self._shown(call.request.get("params"))
            key = self._key_of(call.request["method"], params)
            self._calls.setdefault(key, []).append(call)

    @property
    def left(self) -> list[Call]:
        """The calls that were not found yet, as they were recorded; but none of the opening."""
        return [
            call
            for call in self._order
            if id(call) not in self._passed and call.request["method"] not in _OPENING
        ]

    def _shown(self, params: Any) -> Any:
        """Return the params of a request without secrets, and without what no answer depends on."""
        params = self._redactor.message(params)
        if not isinstance(params, Mapping):
            return params
        return {name: value for name, value in params.items() if name != "_meta"} or None

    def _key_of(self, method: str, params: Any) -> tuple[str, str]:
        if method in _OPENING:
            return method, "null"
        if self._compared is not None:
            params = [value_at(params, path) for path in self._compared]
        return method, REDACTED_NAME.sub("redacted", json.dumps(params, sort_keys=True))

    def reply_to(self, request: Message) -> Reply:
        """Return the reply to a request. Raises `NotRecorded`."""
        method = request["method"]
        call = self._find(method, request.get("params"))
        if call is None:
            text = "Method not found: server/discover was not recorded"
            error = messages.error_response(request["id"], ErrorCode.METHOD_NOT_FOUND, text)
            return Reply(None, [Heard(error)])
        if method == "initialize":
            return Reply(call, call.steps, call.after)
        return Reply(call, [*call.steps, *call.after])

    def _find(self, method: str, params: Any) -> Call | None:
        """Return the recorded call; None for a ``server/discover`` that has to be refused."""
        if isinstance(params, Mapping):
            params = self._redactor.masked(params)
        params = self._shown(params)
        key = self._key_of(method, params)
        calls = self._calls.get(key)
        if method == "server/discover" and ("initialize", "null") in self._calls:
            # It was not asked, as of an older server, or in vain: then no call is pending.
            calls = [call for call in calls or [] if call.steps]
            if not calls:
                return None
        if not calls:
            raise NotRecorded(self._name, method, params, self._nearest(method, key[1]))
        index = self._found.get(key, 0)
        if method in _OPENING:
            index = _next_success(calls, index)
        self._found[key] = index + 1
        call = calls[min(index, len(calls) - 1)]
        self._passed.add(id(call))
        return call

    def _nearest(self, method: str, wanted: str) -> list[Any]:
        recorded = [text for name, text in self._calls if name == method]
        matcher = difflib.SequenceMatcher(b=wanted, autojunk=False)

        def likeness(text: str) -> float:
            matcher.set_seq1(text)
            return matcher.quick_ratio()

        return [json.loads(text) for text in sorted(recorded, key=likeness, reverse=True)]


def _paths_in(match: Sequence[str]) -> list[list[str]] | None:
    """Return the paths of the params to compare; None: all of them."""
    is_known = all(name == "method" or name.split(".")[0] == "params" for name in match)
    if isinstance(match, str) or not is_known or "method" not in match:
        raise UsageError(
            'match is ("method", "params"), or with parts such as "params.name" in place of '
            f'"params", or ("method",); not {match!r}'
        )
    if "params" in match:
        return None
    return [name.split(".")[1:] for name in match if name != "method"]


def _next_success(calls: Sequence[Call], index: int) -> int:
    """Pass over attempts to open a connection that were followed by a better one."""
    better = [place for place, call in enumerate(calls) if "result" in (call.answer or {})]
    return next((place for place in better if place >= index), better[-1] if better else index)
