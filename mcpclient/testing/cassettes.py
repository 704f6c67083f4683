"""Cassettes: recordings of servers that are made once, and replayed in every later test."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable, Literal

from .. import sync
from ..client.client import Client
from ..errors import McpError, NotRecorded, PeerError, UsageError
from ..jsonrpc import messages
from ..jsonrpc.messages import Message, RequestId
from ..net.files import change_file
from ..net.regular_files import open_regular
from ..protocol.outgoing import Outgoing
from ..protocol.types import Progress
from ..transports.base import Abandoned, Receiver, Transport
from ..transports.replaying import MAX_RECORDING_SIZE, Recording

if TYPE_CHECKING:
    from ..client.connection.client_options import ClientOptions
    from ..client.connection.targets import Target
    from ..typing_compat import Unpack

Mode = Literal["once", "none", "all", "new"]
"""``"once"``: record if there is no file yet, otherwise replay. ``"none"``: never record, as in CI.
``"all"``: record again, for a server that has changed. ``"new"``: replay the recorded requests and
record the others, for a program that makes more calls than before."""

# Options for reaching a server, which a replay does without.
_OF_THE_NETWORK = (
    *("transport", "auth", "headers", "env", "inherit_env", "cwd", "stderr", "stop_ladder"),
    "sandbox",
    *("ca_file", "client_cert", "verify", "ssl_context", "proxy", "unix_socket"),
)

# Observers of the client that replays; the client that records must not notify them again.
_TOLD_ONCE = ("around", "hooks", "on_close")

_SHOWN = 5


class Cassette:
    """A file with the recorded messages of servers. See `cassette`."""

    def __init__(
        self, path: str | os.PathLike[str], mode: Mode, match: Sequence[str] = ("method", "params")
    ) -> None:
        if mode not in ("once", "none", "all", "new"):
            raise UsageError(f'mode is "once", "none", "all" or "new", not {mode!r}')
        self.path: str = os.fspath(path)
        is_there = _is_there(self.path)
        self.is_recording: bool = mode == "all" or (mode in ("once", "new") and not is_there)
        self._is_completed = mode == "new"
        # A file for this object only: others may record the same cassette at the same time.
        self._new_path: str | None = None
        self._recording: Recording | None = None
        if not self.is_recording:
            self._recording = Recording(self.path, match=match)
        if self.is_recording or self._is_completed:
            os.makedirs(os.path.dirname(self.path) or ".", exist_ok=True)

    def connect(self, target: Target, **options: Unpack[ClientOptions]) -> Client:
        """Return a client as `mcpclient.connect` does, of the server or of its recording.

        Any number of clients may share a cassette, one after the other.
        """
        made: list[Client] = []
        target, found = self._choose(target, {**options}, made)
        made.append(Client(target, **found))
        return made[0]

    def sync_connect(self, target: Target, **options: Unpack[ClientOptions]) -> sync.Client:
        """Do the same for programs without async, as `mcpclient.sync.connect` does."""
        made: list[Client] = []
        target, found = self._choose(target, {**options}, made)
        client = sync.Client(target, **found)
        made.append(client.async_client)
        return client.connect()

    def _choose(
        self, target: Target, options: dict[str, Any], made: list[Client]
    ) -> tuple[Target, Any]:
        """Return target and options of the client that will be ``made``."""
        if options.get("trace") is not None:
            raise UsageError("a cassette writes the trace itself: leave out trace=")
        if self._new_path is None and (self.is_recording or self._is_completed):
            descriptor, self._new_path = tempfile.mkstemp(prefix="mcpclient-", suffix=".jsonl")
            os.close(descriptor)
        recorded = {**options, "trace": self._new_path}
        if self._recording is None:
            return target, recorded
        replay = self._recording.another()
        others = {name: value for name, value in options.items() if name not in _OF_THE_NETWORK}
        if not self._is_completed:
            return replay, others

        def make_client() -> Client:
            kept: dict[str, Any] = {**recorded, "protocol_version": made[0].protocol_version}
            return Client(target, **{name: kept[name] for name in kept if name not in _TOLD_ONCE})

        return Completing(replay, make_client), others

    def assert_all_played(self) -> None:
        """Raise `AssertionError` if the program has not made a recorded call.

        Does nothing while recording.
        """
        left = self._recording.unplayed if self._recording is not None else []
        if not left:
            return
        count = "1 recorded call was" if len(left) == 1 else f"{len(left)} recorded calls were"
        lines = [f"{self.path}: {count} not made:"]
        lines += [f"  {method} {json.dumps(params)}" for method, params in left[:_SHOWN]]
        if len(left) > _SHOWN:
            lines.append(f"  and {len(left) - _SHOWN} more")
        lines.append('If the program is right, record it again with mode="all".')
        raise AssertionError("\n".join(lines))

    def close(self, *, failed: bool = False) -> None:
        """Save the recording, or check that all of it was played; with ``failed`` do neither.

        Raises what `assert_all_played` does. The file changes only here, so a test that fails while
        it records leaves the previous file as it was.
        """
        new = self._take_new()
        if failed:
            return
        if new:
            try:
                # Under a lock and as a whole: two processes may record the same cassette.
                change_file(
                    self.path,
                    lambda content: new if self.is_recording else (content or b"") + new,
                    limit=MAX_RECORDING_SIZE,
                    new_mode=0o600,
                )
            except OSError as error:
                raise UsageError(f"cannot write the cassette {self.path!r}: {error}") from None
        self.assert_all_played()

    def _take_new(self) -> bytes:
        path, self._new_path = self._new_path, None
        if path is None:
            return b""
        with open(path, "rb") as file:
            new = file.read()
        os.remove(path)
        return new

    def __enter__(self) -> Cassette:
        return self

    def __exit__(self, *error: object) -> None:
        self.close(failed=error[0] is not None)


def cassette(
    path: str | os.PathLike[str],
    *,
    mode: Mode = "once",
    match: Sequence[str] = ("method", "params"),
) -> Cassette:
    """Return a context manager that records the messages of servers in a file, or replays them.

    ::

        with cassette("tests/search.jsonl") as tape:
            async with tape.connect("https://example.com/mcp", auth=OAuth()) as client:
                await client.call_tool("search", {"q": "x"})

    The first run talks to the server; later runs need neither server nor network. A call that was
    not recorded raises `NotRecorded`. A recorded call that is no longer made fails the test at the
    end of the block. The file is a transcript, in which secrets are replaced.

    ``mode``: see `Mode`. ``match``: the parts that a request must share with a recorded one:
    ``"method"``, and ``"params"`` or members of them such as ``"params.name"``. Raises `UsageError`
    if there is nothing to replay.
    """
    return Cassette(path, mode, match)


def _is_there(path: str) -> bool:
    """Whether the cassette exists. Raises `UsageError` if it is not a regular file."""
    try:
        os.close(open_regular(path))
    except FileNotFoundError:
        return False
    except OSError as error:
        raise UsageError(f"cannot use the cassette {path!r}: {error.strerror}") from None
    return True


# Members of ``_meta`` that each client adds by itself.
_OF_THE_CLIENT = ("progressToken", "io.modelcontextprotocol/")


class Completing(Transport):
    """A `Recording` whose missing requests another client makes of the server.

    ``make_client``: returns that client, which connects when it is first needed.
    """

    name = "replay"

    def __init__(self, recording: Recording, make_client: Callable[[], Client]) -> None:
        self._recording = recording
        self._make_client = make_client
        self._client: Client | None = None
        self._receiver: Receiver | None = None
        self._asking: dict[RequestId, asyncio.Task[None]] = {}

    @property
    def description(self) -> str:
        """The path of the file."""
        return self._recording.description

    async def open(self, receiver: Receiver) -> None:
        """Begin the replay."""
        self._receiver = receiver
        await self._recording.open(receiver)

    def send(self, outgoing: Outgoing) -> None:
        """Play the recorded answer to a message, or make the request of the server."""
        try:
            self._recording.send(outgoing)
        except NotRecorded:
            task = asyncio.ensure_future(self._ask(outgoing.message))
            request_id = outgoing.message["id"]
            self._asking[request_id] = task
            task.add_done_callback(lambda _: self._asking.pop(request_id, None))

    async def _ask(self, request: Message) -> None:
        receiver, request_id = self._receiver, request["id"]
        assert receiver is not None, "it is open"
        try:
            answer = messages.response(request_id, await self._result_of(request))
        except PeerError as error:
            answer = messages.error_response(request_id, error.code, error.message, error.data)
        except McpError as error:
            receiver.request_failed(request_id, error)
            return
        receiver.message_received(answer)

    async def _result_of(self, request: Message) -> dict[str, Any]:
        if self._client is None:
            self._client = self._make_client()
        await self._client.connect()
        params = dict(request.get("params") or {})
        meta = params.pop("_meta", {})
        kept = {name: meta[name] for name in meta if not name.startswith(_OF_THE_CLIENT)}
        return await self._client.request(
            request["method"],
            params or None,
            timeout=None,  # the replaying client has its own limits and abandons the request
            max_timeout=None,
            on_progress=self._passing_on(meta.get("progressToken")),
            meta=kept,
        )

    def _passing_on(self, token: Any) -> Callable[[Progress], None] | None:
        if token is None:
            return None

        def pass_on(progress: Progress) -> None:
            params = {**progress.raw, "progressToken": token}
            if self._receiver is not None:
                message = messages.notification("notifications/progress", params)
                self._receiver.message_received(message)

        return pass_on

    def abandon(self, outgoing: Outgoing) -> Abandoned:
        """Cancel a request to the server, or stop playing its answer."""
        task = self._asking.pop(outgoing.request_id or "", None)
        if task is None:
            return self._recording.abandon(outgoing)
        task.cancel()
        return Abandoned.STILL_OPEN

    async def close(self) -> None:
        """Stop the replay and close the client of the server."""
        for task in self._asking.values():
            task.cancel()
        self._asking.clear()
        await self._recording.close()
        client, self._client = self._client, None
        if client is not None:
            await client.close()
