"""The host's end of a bridge: lines on stdin and stdout, and the era that the host speaks."""

from __future__ import annotations

import abc
import asyncio
from logging import ERROR, WARNING
from typing import IO, Any, Callable

from ..client.answers.peer import Params, Peer
from ..client.connection.limits import RequestOptions
from ..errors import McpError, PeerError
from ..framing.logs import logger_for
from ..framing.ndjson import DEFAULT_MAX_MESSAGE_SIZE, LineFramer
from ..jsonrpc.codec import VerbatimObject, encode_line, finite
from ..jsonrpc.messages import ErrorCode, Message, RequestId
from ..net.futures import BackgroundTasks, resolve
from ..net.process.pipes import PipeReader, PipeWriter, ThreadedReader, ThreadedWriter
from ..protocol.negotiation import HANDSHAKE_VERSIONS, LATEST_HANDSHAKE, STATELESS_VERSIONS
from ..protocol.wire_object import object_in
from .translation import CAPABILITIES, INFO, VERSION, stateless_meta

_logger = logger_for("mcpclient.bridge")

# Seconds that a host that has closed stdin still waits for an answer; each answer renews them. The
# SDKs send SIGTERM after two. And seconds between two looks whether it still reads.
_ANSWERS_WITHIN = 8.0
_LOOK_EVERY = 0.05

# The most notifications kept for a host that has not finished its handshake.
_MAX_EARLY = 1000


def _log(error: Exception) -> None:
    is_expected = isinstance(error, McpError)
    _logger.log(WARNING if is_expected else ERROR, "%s", error, exc_info=not is_expected and error)


class HostService(Peer):
    """The service of one host: a bridge to one server, or a gateway to many.

    The host's messages show its era: a request of the stateless era names its revision, and others
    follow ``initialize``. ``limits``: of each request; the host has its own.

    - ``version``: the revision of a host that has sent ``initialize``, otherwise "". ``declared``:
      the capabilities of the host, and the params of its ``initialize``.
    - ``is_opened``: whether a request has opened the servers. ``is_stalled``: whether the host does
      not read. ``over`` is done when the host has closed both streams, or has got its
      answers after it has closed stdin.
    """

    def __init__(self, limits: RequestOptions) -> None:
        super().__init__(BackgroundTasks(_log))
        self.limits = limits
        self.version: str = ""
        self.declared: tuple[Params, Params] = {}, {}
        self.is_opened: bool = False
        self.is_stalled: bool = False
        self._framer = LineFramer(DEFAULT_MAX_MESSAGE_SIZE)
        self._lasting: set[RequestId] = set()  # the running requests that the host has to cancel
        self._waiting = 0
        self._early: list[tuple[str, Params]] = []

    async def serve(self, stdin: IO[bytes], stdout: IO[bytes], *, threads: bool = False) -> None:
        """Serve a host that writes to ``stdin`` and reads from ``stdout``, and close both.

        ``threads``: move bytes with threads, for pipes that no event loop can watch.
        """
        loop = asyncio.get_running_loop()
        self._is_ready = asyncio.Event()  # a host of the handshake era has finished its handshake
        self.over: asyncio.Future[None] = loop.create_future()
        writer = ThreadedWriter if threads else PipeWriter
        self._writer = writer(loop, stdout, self.stalled, self._end)
        reader = ThreadedReader if threads else PipeReader
        try:
            self._reader = reader(loop, stdin, self.received, self._input_ended)
        except PermissionError:  # a regular file, or /dev/null
            self._reader = ThreadedReader(loop, stdin, self.received, self._input_ended)
        try:
            await asyncio.wait({self.over})
        finally:
            self._reader.close()
            self.cancel_all("the host has left")
            self.tasks.cancel()
            await self.tasks.wait()
            self._writer.finish()
            await self.close()

    # The servers

    @abc.abstractmethod
    async def close(self) -> None:
        """Close the servers, once the host has gone."""

    @abc.abstractmethod
    async def open(self, info: Any) -> None:
        """Open the servers, unless they are; ``info``: the host's name for itself, if any."""

    @abc.abstractmethod
    async def initialized(self) -> Params:
        """Return the result of ``initialize``."""

    @abc.abstractmethod
    async def handle(
        self, request_id: RequestId, method: str, params: Params | None, meta: Params | None
    ) -> Params:
        """Return the result of a later request; ``meta``: its metadata in the stateless era."""

    # The life of the streams

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

    def stalled(self, is_stalled: bool) -> None:
        """Do not read from servers while the host does not read."""
        self.is_stalled = is_stalled

    def received(self, data: bytes) -> None:
        """Handle the messages that the next bytes complete."""
        for line in self._framer.feed(data):
            self.take_line(line)

    # Requests, and the era

    async def request(self, request_id: RequestId, method: str, params: Params | None) -> Params:
        """Return the result of a request of the host."""
        given = params or {}
        meta = stateless_meta(given)
        if method == "initialize" and meta is None:
            return await self._initialize(given)
        if method == "ping" and meta is None and not self.version:
            return {}
        self._check_era(meta)
        if meta is not None:
            if not isinstance(meta.get(CAPABILITIES), dict):
                raise PeerError(ErrorCode.INVALID_PARAMS, f"_meta has no {CAPABILITIES}")
            await self._open(meta[CAPABILITIES], meta.get(INFO))
            if method == "server/discover" and self.version:
                # The host did not wait for the answer to its probe, so it speaks the other era now.
                raise PeerError(ErrorCode.METHOD_NOT_FOUND, "initialize was sent meanwhile")
        return await self.handle(request_id, method, params, meta)

    async def _initialize(self, params: Params) -> Params:
        if self.version:
            raise PeerError(ErrorCode.INVALID_REQUEST, "initialize was sent before")
        offered = params.get("protocolVersion")
        self.version = str(offered) if offered in HANDSHAKE_VERSIONS else LATEST_HANDSHAKE
        try:
            declared = object_in(params.get("capabilities"))
            await self._open(declared, params.get("clientInfo"), params)
            return await self.initialized()
        except BaseException:
            self.version = ""
            raise

    async def _open(self, capabilities: Params, info: Any, opening: Params | None = None) -> None:
        declared, first = self.declared  # a host of the stateless era says it in each request
        self.declared = {**declared, **capabilities}, opening or first
        await self.open(info)
        self.is_opened = True

    def _check_era(self, meta: Params | None) -> None:
        """Raise `PeerError` for a request of no era that is spoken here."""
        if meta is None:
            if not self.version and self.is_opened:
                raise PeerError(ErrorCode.INVALID_PARAMS, f"_meta has no {VERSION}")
            if not self.version:
                raise PeerError(ErrorCode.INVALID_REQUEST, "initialize comes first")
            self.become_ready()
        elif meta[VERSION] not in STATELESS_VERSIONS:
            known = {"supported": [*STATELESS_VERSIONS], "requested": meta[VERSION]}
            code = ErrorCode.UNSUPPORTED_PROTOCOL_VERSION
            raise PeerError(code, "Unsupported protocol version", known)

    def answer(self, request_id: RequestId, method: str, params: Params | None) -> None:
        """Answer in a task; a subscription is one that lasts."""
        super().answer(request_id, method, params)
        if method == "subscriptions/listen":
            self._lasting.add(request_id)

    def finished(self, request_id: RequestId) -> None:
        """Forget a request, whose id may be used again."""
        super().finished(request_id)
        self._lasting.discard(request_id)

    def notification(self, method: str, params: Params | None) -> None:
        """Handle a notification of the host."""
        if method == "notifications/initialized":
            self.become_ready()

    # To the host

    def become_ready(self) -> None:
        """Send the notifications that came before the end of the handshake."""
        if self._is_ready.is_set():
            return
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

    def write(self, message: Message) -> None:
        """Send a message as a line. Raises `UsageError`."""
        for piece in encode_line(message):
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
