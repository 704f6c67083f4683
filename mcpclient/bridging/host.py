"""The host's end of a bridge: lines on stdin and stdout."""

from __future__ import annotations

import asyncio
from typing import IO, Any, Callable, Protocol

from ..errors import PeerError
from ..framing.ndjson import DEFAULT_MAX_MESSAGE_SIZE, LineFramer
from ..jsonrpc.codec import VerbatimObject, encode, encode_large, finite
from ..jsonrpc.messages import ErrorCode, Message, RequestId
from ..jsonrpc.peer import Params, Peer, Service
from ..net.futures import BackgroundTasks, resolve
from ..net.process.pipes import PipeReader, PipeWriter, ThreadedReader, ThreadedWriter
from ..protocol.negotiation import HANDSHAKE_VERSIONS, LATEST_HANDSHAKE, STATELESS_VERSIONS
from .translation import VERSION

# Seconds that a host that has closed stdin still waits for an answer; each answer renews them. The
# SDKs send SIGTERM after two. And seconds between two looks whether it still reads.
_ANSWERS_WITHIN = 8.0
_LOOK_EVERY = 0.05

# The most notifications kept for a host that has not finished its handshake.
_MAX_EARLY = 1000


class HostService(Service, Protocol):
    """The one that serves a host: a bridge to one server, or to many."""

    def host_stalled(self, *, is_stalled: bool) -> None:
        """Handle that the host does not read, or reads again."""

    def host_writes(self) -> None:
        """Prepare for messages of the host that have come together."""

    def host_wrote(self) -> None:
        """Handle the end of these messages."""


class HostChannel(Peer):
    """A host that writes to ``stdin`` and reads from ``stdout``, both of which this closes.

    ``threads``: move bytes with threads, for pipes that no event loop can watch. ``over`` is done
    when the host has closed both, or has got its answers after it has closed stdin. ``version``:
    the revision of a host that has sent ``initialize``, otherwise "".
    """

    def __init__(
        self, service: HostService, stdin: IO[bytes], stdout: IO[bytes], *, threads: bool = False
    ) -> None:
        loop = asyncio.get_running_loop()
        self.tasks: BackgroundTasks = BackgroundTasks()
        super().__init__(service, loop.create_future, self.tasks.start)
        self._host_service = service
        self._framer = LineFramer(DEFAULT_MAX_MESSAGE_SIZE)
        self._lasting: set[RequestId] = set()  # the running requests that the host has to cancel
        self._waiting = 0
        self.version: str = ""
        self._is_ready = asyncio.Event()  # such a host has finished its handshake
        self._early: list[tuple[str, Params]] = []
        self.over: asyncio.Future[None] = loop.create_future()
        writer = ThreadedWriter if threads else PipeWriter
        self._writer = writer(loop, stdout, self._stalled, self._end)
        reader = ThreadedReader if threads else PipeReader
        try:
            self._reader = reader(loop, stdin, self._received, self._input_ended)
        except PermissionError:  # a regular file, or /dev/null
            self._reader = ThreadedReader(loop, stdin, self._received, self._input_ended)

    async def close(self) -> None:
        """Cancel all requests, and close both streams."""
        self._reader.close()
        self.cancel_all("the host has left")
        self.tasks.cancel()
        await self.tasks.wait()
        self._writer.finish()

    def hold(self, *, is_held: bool) -> None:
        """Stop reading, or go on."""
        self._reader.hold(is_held=is_held)

    @property
    def is_gone(self) -> bool:
        """Whether the host has closed its end, where that can be seen without reading."""
        if self._reader.is_cut_off or self._writer.is_cut_off:
            self._end()
        return self.over.done()

    def _end(self) -> None:
        resolve(self.over, None)

    def _input_ended(self) -> None:
        self.end_questions(PeerError(ErrorCode.INTERNAL_ERROR, "the host has closed its end"))
        self.tasks.start(self._answer_the_rest())

    async def _answer_the_rest(self) -> None:
        """Wait until the host has the answers to its requests, unless it does not read them."""
        loop = asyncio.get_running_loop()
        before, ends = (0, 0), 0.0
        while (left := (len(self.running.keys() - self._lasting), self._writer.unsent)) != (0, 0):
            if left != before:
                before, ends = left, loop.time() + _ANSWERS_WITHIN
            if self._writer.is_cut_off or loop.time() >= ends:
                break
            await asyncio.sleep(_LOOK_EVERY)
        self._end()

    def _stalled(self, is_stalled: bool) -> None:
        self._host_service.host_stalled(is_stalled=is_stalled)

    def _received(self, data: bytes) -> None:
        self._host_service.host_writes()
        for line in self._framer.feed(data):
            self.take_line(line)
        self._host_service.host_wrote()

    def answer(self, request_id: RequestId, method: str, params: Params | None) -> None:
        """Answer in a task; a subscription is one that lasts."""
        super().answer(request_id, method, params)
        if method == "subscriptions/listen":
            self._lasting.add(request_id)

    # Its era

    def opened(self, params: Params) -> str:
        """Begin the handshake era with ``initialize``; return the revision to answer.

        Raises `PeerError` for a second one.
        """
        if self.version:
            raise PeerError(ErrorCode.INVALID_REQUEST, "initialize was sent before")
        offered = params.get("protocolVersion")
        self.version = str(offered) if offered in HANDSHAKE_VERSIONS else LATEST_HANDSHAKE
        return self.version

    def check_era(self, meta: Params | None, *, is_opened: bool) -> None:
        """Raise `PeerError` for a request of no era that is spoken here.

        ``meta``: its metadata in the stateless era. ``is_opened``: an earlier one was of an era.
        """
        if meta is None:
            if not self.version and is_opened:
                raise PeerError(ErrorCode.INVALID_PARAMS, f"_meta has no {VERSION}")
            if not self.version:
                raise PeerError(ErrorCode.INVALID_REQUEST, "initialize comes first")
            self.become_ready()
        elif meta[VERSION] not in STATELESS_VERSIONS:
            known = {"supported": [*STATELESS_VERSIONS], "requested": meta[VERSION]}
            code = ErrorCode.UNSUPPORTED_PROTOCOL_VERSION
            raise PeerError(code, "Unsupported protocol version", known)

    def become_ready(self) -> None:
        """Send the notifications that came before the end of the handshake."""
        self._is_ready.set()
        early, self._early = self._early, []
        for method, params in early:
            self.notify(method, params)

    def tell(self, method: str, params: Params) -> None:
        """Send a notification, once the host has finished its handshake."""
        if self._is_ready.is_set() or not self.version:
            self.notify(method, params)
        elif len(self._early) < _MAX_EARLY:
            self._early.append((method, params))

    async def ask_when_ready(self, method: str, params: Params) -> Params:
        """Ask a host of the handshake era, once it may be asked; see `ask`."""
        await self._is_ready.wait()
        answer = await self.ask(method, params)
        return answer if isinstance(answer, VerbatimObject) else finite(answer)

    # To the host

    def write(self, message: Message) -> None:
        """Send a message as a line. Raises `UsageError`."""
        for piece in encode_large(message) or (encode(message) + b"\n",):
            self._writer.write(piece)

    def in_turn(self, send: Callable[..., None], *arguments: Any, is_first: bool = False) -> None:
        """Send something after all that the server has sent before it.

        A response may have to wait for its task, and whatever comes after it waits, too.
        ``is_first``: it need not wait, unless something else does.
        """
        if is_first and not self._waiting:
            send(*arguments)
            return
        self._waiting += 1
        asyncio.get_running_loop().call_soon(self._take_turn, send, *arguments)

    def _take_turn(self, send: Callable[..., None], *arguments: Any) -> None:
        self._waiting -= 1
        send(*arguments)
