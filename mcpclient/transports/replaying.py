"""Replay of a recorded session: no process, no network, always the same answers."""

from __future__ import annotations

import asyncio
import json
import os
from collections import deque
from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

from ..errors import ConnectionLost, ProtocolViolation, UsageError, safe_str
from ..framing.http1 import ResponseHead
from ..framing.uri import Url, parse_url
from ..jsonrpc.codec import encode
from ..jsonrpc.messages import Message, RequestId, plain_id
from ..net.regular_files import open_regular
from ..protocol.listen import SUBSCRIPTION_ID
from ..protocol.outgoing import Outgoing
from ..recording.conversation import (
    READY,
    Call,
    Conversation,
    Failed,
    Heard,
    Refused,
    Rejected,
    Script,
    Step,
    progress_token_of,
    read_calls,
)
from ..recording.transcript import Transcript, error_of, read_transcripts
from .base import Abandoned, Receiver, Transport
from .http_messages import Refusal


class Recording(Transport):
    """The server side of a session, replayed from the transcript in the file ``path``.

    A request gets the recorded answer for the same method and params (``_meta`` does not count, and
    secrets do not): the server's messages in between, such as progress, and its answer or failure.
    The second such request gets the second recorded answer, and so on; after the last one, the
    last one. Times are not imitated. A request that was never recorded raises `NotRecorded`.

    Raises `UsageError` when the file cannot be read, or is not a transcript of a known version.
    One object serves one client; `another` returns one for the next client, which continues with
    the same calls. It reads transcripts of ``trace=``, ``mcpclient record`` and the conformance
    suite, of any transport.

    ``match``: what has to be the same in a request: ``"method"`` alone, or with ``"params"``, or
    with parts of these such as ``"params.name"``.

    ``transcripts``: the connections that were recorded. ``conversation``: what was said over them.
    """

    name = "replay"

    def __init__(
        self, path: str | os.PathLike[str], *, match: Sequence[str] = ("method", "params")
    ) -> None:
        self.transcripts: list[Transcript] = read_recording(path)
        self.conversation: Conversation = read_calls(self.transcripts)
        self._path = os.fspath(path)
        self._url = _url_of(self.transcripts)
        self._script = Script(os.path.basename(path), self.conversation.calls, match)
        self._receiver: Receiver | None = None
        self._parts: dict[RequestId, _Part] = {}
        self._asking: dict[RequestId, deque[_Part]] = {}  # by the id of the server's request
        self._held: list[_Part] = []  # until the client has said that it is ready
        self._has_begun = False

    @property
    def description(self) -> str:
        return self._path

    def another(self) -> Recording:
        """Return a recording for another client, which gets the calls that this one leaves."""
        copied = copy(self)
        copied._receiver, copied._has_begun = None, False
        copied._parts, copied._asking, copied._held = {}, {}, []
        return copied

    @property
    def unplayed(self) -> list[tuple[str, Any]]:
        """Method and params of the recorded requests that were not made, in their order.

        Those that open a connection do not count: how often they are made is not up to the caller.
        """
        return [(call.request["method"], call.request.get("params")) for call in self._script.left]

    async def open(self, receiver: Receiver) -> None:
        """Begin, or continue after the recorded connection was lost."""
        failure = self.conversation.never_opened
        if failure is not None and not self.conversation.calls:
            raise error_of(failure)
        self._receiver = receiver
        if not self._has_begun:
            self._has_begun = True
            self._start(_Part(deque(self.conversation.before)))

    def send(self, outgoing: Outgoing) -> None:
        """Play the recorded reaction to a message."""
        message: Message = json.loads(encode(outgoing.message))
        if self._receiver is None:
            raise ConnectionLost("the recording is not being replayed")
        if "method" not in message:
            waiting = self._asking.get(message["id"])
            if waiting is not None:
                self._start(waiting.popleft())
                if not waiting:
                    del self._asking[message["id"]]
        elif "id" in message:
            reply = self._script.reply_to(message)
            if reply.later:
                self._held.append(_Part(deque(reply.later), reply.call, message))
            part = self._parts[message["id"]] = _Part(deque(reply.steps), reply.call, message)
            self._start(part)
        elif message["method"] == READY:
            for part in self._held:
                self._start(part)
            self._held.clear()

    def _start(self, part: _Part) -> None:
        # In a later turn of the loop, as from any server: never during the client's own call.
        asyncio.get_running_loop().call_soon(self._play, part)

    def abandon(self, outgoing: Outgoing) -> Abandoned:
        part = self._parts.pop(outgoing.request_id or "", None)
        if part is not None:
            part.steps.clear()
        return Abandoned.STILL_OPEN

    async def close(self) -> None:
        self._receiver = None
        self._parts.clear()
        self._asking.clear()
        self._held.clear()

    def _play(self, part: _Part) -> None:
        """Play a part up to where the recorded server waited for the client."""
        while part.steps:
            step = part.steps.popleft()
            if not isinstance(step, Heard):
                self._fail(step, part)
                continue
            message = part.renumbered(step.message)
            if message is not None and step.answered:
                self._asking.setdefault(message["id"], deque()).append(part)
            if message is not None and self._receiver is not None:
                self._receiver.message_received(message)
            if step.answered:
                return
        if part.request is not None and self._parts.get(part.request["id"]) is part:
            del self._parts[part.request["id"]]

    def _fail(self, step: Refused | Failed | Rejected, part: _Part) -> None:
        receiver = self._receiver
        request_id = part.request["id"] if part.request is not None else None
        if receiver is None:
            return
        if isinstance(step, Refused):
            assert part.call is not None
            refusal = Refusal(ResponseHead(step.status, "", step.headers, "1.1"))
            refusal.add(step.body)
            recorded_id = part.call.request["id"]
            error = refusal.error(self._url, recorded_id, in_session=step.in_session)
            receiver.request_failed(request_id, error)
            return
        error = error_of(step.error)
        if isinstance(step, Failed) and step.lost:
            receiver.connection_lost(error)
        elif isinstance(step, Failed):
            receiver.request_failed(request_id, error)
        else:
            receiver.message_rejected(ProtocolViolation(str(error)), None)


class _Part(NamedTuple):
    """The steps that are left of one recorded ``call``, played for the new ``request``."""

    steps: deque[Step]
    call: Call | None = None
    request: Message | None = None

    def renumbered(self, recorded: Message) -> Message | None:
        """Return a message with the ids of the new request; None: no caller has asked for it."""
        message = _copied(recorded)
        if self.call is None or self.request is None:
            return message
        if "method" not in message:
            message["id"] = self.request["id"]
        body = message.get("params", message.get("result"))
        if not isinstance(body, dict):
            return message
        token, meta = plain_id(body.get("progressToken")), body.get("_meta")
        if token is not None and token == plain_id(progress_token_of(self.call.request)):
            body["progressToken"] = progress_token_of(self.request)
            if body["progressToken"] is None:
                return None
        own_id = plain_id(self.call.request["id"])
        if isinstance(meta, dict) and plain_id(meta.get(SUBSCRIPTION_ID)) == own_id:
            meta[SUBSCRIPTION_ID] = self.request["id"]
        return message


def _copied(message: Message) -> Message:
    try:
        copied: Message = json.loads(json.dumps(message))
    except RecursionError:  # then it is shared, except for the renumbered parts
        copied = {**message}
        for name in ("params", "result"):
            if isinstance(copied.get(name), dict):
                copied[name] = {**copied[name]}
    return copied


def _url_of(transcripts: Sequence[Transcript]) -> Url:
    for transcript in transcripts:
        try:
            return parse_url(safe_str(transcript.header.get("target")))
        except UsageError:
            continue
    return parse_url("http://recorded/")


MAX_RECORDING_SIZE = 512 * 1024 * 1024
"""The most bytes of a recording that are read; in memory it is several times as large."""


def read_recording(path: str | os.PathLike[str]) -> list[Transcript]:
    """Read a file of transcripts. Raises `UsageError` when it is not one, or cannot be read."""
    try:
        with open(open_regular(path, limit=MAX_RECORDING_SIZE), encoding="utf-8") as file:
            return read_transcripts(file)
    except (OSError, UnicodeError) as error:
        reason = str((isinstance(error, OSError) and error.strerror) or error)
        raise UsageError(f"cannot read the recording {os.fspath(path)!r}: {reason}") from None
