"""The servers of an inspector: where they come from, and the watch over each."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable

from ..client.client import Client
from ..client.connection.states import State
from ..client.requests import connection_of
from ..errors import AuthError, McpError, UsageError
from ..net.clocks import working_seconds
from ..net.futures import BackgroundTasks, in_slices
from ..protocol.faults import Fault
from ..protocol.faults.lists import entry_faults, schema_faults
from ..recording.transcript import write_line
from ..suggestions import there_is_no
from ..transports.replaying import Recording
from .board import CALL, Board, Calls, Questions
from .described import (
    LISTS,
    Lists,
    described_call,
    described_client,
    described_error,
    described_recording,
    fetch_lists,
    login_of,
    recorded_lists,
)
from .journal import Journal

if TYPE_CHECKING:
    from ..config.sheet import Sheet
    from ..gate.gate import Approvals
    from ..manager.manager import Manager
    from ..manager.server import Server


@dataclass(frozen=True)
class ServerState:
    """The state of one server.

    ``status``: ``connected``, ``connecting``, ``failed``, ``needs_auth``, ``lost``, ``closed``,
    ``recorded``, or another value of `Status`. ``error``: the reason why it is not connected.
    ``since``: the time of the last change in seconds since the epoch, if known.
    """

    status: str
    client: Client | None = None
    recording: Recording | None = None
    error: BaseException | None = None
    since: float | None = None


class Source:
    """The origin of the servers that a page shows; this base class shows recordings."""

    def __init__(self, recordings: Sequence[Recording] = ()) -> None:
        self._recordings: dict[str, ServerState] = {}
        for recording in recordings:
            name = os.path.basename(recording.description)
            while name in self._recordings:
                name = f"{name} ({len(self._recordings) + 1})"
            self._recordings[name] = ServerState("recorded", recording=recording)

    def states(self) -> Mapping[str, ServerState]:
        """Return the present state of each server, by name, in order."""
        return self._recordings

    async def connect(self, name: str) -> None:
        """Connect a server. A failure is part of its state."""
        raise UsageError("a recording has no server to connect to")

    async def disconnect(self, name: str) -> None:
        """Close the connection to a server."""
        raise UsageError("a recording has no server to disconnect from")

    async def add(self, name: str, target: Any) -> None:
        """Add a server and connect it. Raises `UsageError` for an invalid name or target."""
        raise UsageError("servers cannot be added to recordings")

    def sheet(self, name: str) -> Sheet:
        """Return what the user would agree to. Raises `UsageError` if there is nothing to ask."""
        raise UsageError("no server here needs approval")

    async def approve(self, name: str, digest: str) -> None:
        """Agree to a server's sheet, if it still has this digest, and connect the server."""
        self.sheet(name)

    async def close(self) -> None:
        """Close the connections that this source has opened itself."""


class ClientSource(Source):
    """A client, and the clients that the page adds.

    ``make``: returns a client for a name and a target, not yet connected, and has made the first
    one as well; None: the first client belongs to the program.
    """

    def __init__(self, client: Client, make: Callable[[str, Any], Client] | None = None) -> None:
        super().__init__()
        self._make = make or (lambda name, target: Client(target))
        self._clients = {client.target: client}
        # Clients that are made here are closed here.
        self._own = [] if make is None else [client]
        self._connecting: set[str] = set()
        self._errors: dict[str, McpError] = {}

    def states(self) -> Mapping[str, ServerState]:
        return {name: self._state(name, client) for name, client in self._clients.items()}

    def _state(self, name: str, client: Client) -> ServerState:
        if client.is_connected:
            return ServerState("connected", client)
        if name in self._connecting:
            return ServerState("connecting", client)
        error, connection = self._errors.get(name), connection_of(client)
        if error is not None:
            status = "needs_auth" if isinstance(error, AuthError) else "failed"
            return ServerState(status, client, error=error)
        if connection.state is State.LOST:
            return ServerState("lost", client, error=connection.session.ended)
        return ServerState("closed", client)

    async def connect(self, name: str) -> None:
        client = self._client_of(name)
        self._connecting.add(name)
        try:
            if (login := login_of(client)) is not None:
                await login.expect_login()  # even after one that was not completed
            if name in self._connecting:
                await client.connect()
            self._errors.pop(name, None)
        except McpError as error:
            if name in self._connecting:
                self._errors[name] = error
        finally:
            self._connecting.discard(name)

    async def disconnect(self, name: str) -> None:
        client = self._client_of(name)
        self._connecting.discard(name)
        await client.close()

    def _client_of(self, name: str) -> Client:
        client = self._clients.get(name)
        if client is None:
            raise UsageError(there_is_no("server", name, self._clients))
        return client

    async def add(self, name: str, target: Any) -> None:
        if not name or name in self._clients:
            raise UsageError(
                f"there is a server {name!r} already" if name else "a server needs a name"
            )
        client = self._make(name, target)
        self._clients[name] = client
        self._own.append(client)
        await self.connect(name)

    async def close(self) -> None:
        await asyncio.gather(*(client.close() for client in self._own))


class ManagerSource(Source):
    """The servers of a manager, which belongs to the program.

    ``approvals``: where an agreement that is given in the page is remembered; None: it is for the
    program to ask.
    """

    def __init__(self, manager: Manager, approvals: Approvals | None = None) -> None:
        super().__init__()
        self._manager = manager
        self._approvals = approvals

    def states(self) -> Mapping[str, ServerState]:
        return {name: _managed(server) for name, server in self._manager.servers.items()}

    async def connect(self, name: str) -> None:
        try:
            await self._manager.connect(name)
        except UsageError:
            raise
        except McpError:
            pass

    async def disconnect(self, name: str) -> None:
        await self._manager.disconnect(name)

    def sheet(self, name: str) -> Sheet:
        server = self._manager.servers.get(name)
        config = server.config if server is not None else None
        if config is None or config.sheet is None or config.state != "needs_approval":
            raise UsageError(f"{name!r} does not wait for approval")
        return config.sheet

    async def approve(self, name: str, digest: str) -> None:
        if self._approvals is None:
            raise UsageError("the program that this page belongs to asks for approval itself")
        if self.sheet(name).digest() != digest:
            raise UsageError("its entry has changed; look at it again before you agree")
        self._approvals.approve(self._manager.servers[name].config)
        await self.connect(name)

    async def add(self, name: str, target: Any) -> None:
        await self._manager.add(name, target)


def _managed(server: Server) -> ServerState:
    try:
        client: Client | None = server.client
    except McpError:  # a server that has never been connected has no client
        client = None
    return ServerState(server.status.value, client, error=server.error, since=server.since)


class Watch:
    """The watch over one server, through all of its connections.

    The wire is recorded in ``journal`` from the first `follow` until `stop`.
    """

    def __init__(self) -> None:
        self.journal: Journal = Journal()
        self.state: ServerState = ServerState("closed")
        self._client: Client | None = None
        self._end: Callable[[], None] | None = None
        self._lists: tuple[object, Lists] | None = None  # of which session, and the lists
        self._calls: tuple[int, list[dict[str, Any]]] | None = None  # of which version, and these

    @property
    def client(self) -> Client:
        """The client for requests to the server. Raises `UsageError` if there is none."""
        if self.state.client is None:
            raise UsageError("there is no connection for requests to this server")
        return self.state.client

    def follow(self, state: ServerState) -> None:
        """Store a new state, and record the wire of its client."""
        previous, self.state = self.state, state
        if state.recording is not None and previous.recording is None:
            for transcript in state.recording.transcripts:
                self.journal.append(write_line(transcript.header))
                for record in transcript.records:
                    self.journal.append(write_line(record))
        if state.client is not None and (state.client is not self._client or self._end is None):
            self.stop()
            self._client = state.client
            self._end = state.client.trace_to(lambda line: self.journal.append(line, CALL.get()))

    def stop(self) -> None:
        """Stop recording. Idempotent."""
        if self._end is not None:
            self._end()
            self._end = None

    def described(self) -> dict[str, Any]:
        """Return the description of the server for the page."""
        state, recording = self.state, self.state.recording
        described = {} if state.client is None else described_client(state.client)
        if recording is not None:
            header = recording.transcripts[0].header
            described = described_recording(header, self.calls())
        described.update(status=state.status, since=state.since)
        described.update(error=described_error(state.error))
        return {**described, "changed_lists": self.journal.changed_lists}

    async def lists(self, *, fresh: bool) -> Lists:
        """Return the server's lists, fetched once in a session until it changes one."""
        if self.state.recording is not None:
            return {**recorded_lists(self.calls()), "errors": {}}
        client = self.client
        now = (client, connection_of(client).generation, self.journal.changed_lists)
        if self._lists is None or fresh or self._lists[0] != now:
            self._lists = now, await fetch_lists(client, fresh=fresh)
        return self._lists[1]

    async def faults(self, lists: Lists | None = None) -> dict[str, list[tuple[int, Fault]]]:
        """Return the faults of the lists' entries, by list, each with the index of its entry.

        ``lists``: as they were recorded; by default those that `lists` returns.
        """
        lists, revision = lists or await self.lists(fresh=False), self.journal.revision
        schemas: list[tuple[int, Fault]] = []

        def check(numbered: tuple[int, Any]) -> None:
            at, tool = numbered
            schemas.extend((at, each) for each in schema_faults(tool, revision, working_seconds))

        await in_slices(map(check, enumerate(lists["tools"])))
        self.journal.add_faults(
            "tools/list",
            [each._replace(text=f"result.tools[{at}].{each.text}") for at, each in schemas],
        )
        found = {name: entry_faults(key, lists[name], revision) for _, name, _, key in LISTS}
        found["tools"] = sorted([*found["tools"], *schemas], key=lambda each: each[0])
        return found

    def calls(self) -> list[dict[str, Any]]:
        """Return the requests made so far whose records are kept, as `described_call` does."""
        journal = self.journal
        if self._calls is None or self._calls[0] != journal.spans.version:
            found = [described_call(span, journal.line) for span in journal.spans.in_order()]
            self._calls = journal.spans.version, found
        return self._calls[1]


# Seconds between the last page's end and the end of recording: a reload takes less.
_STOP_AFTER = 30.0


class Room:
    """The state that the pages of one inspector share.

    Recording begins with the first page, or with `observe`, and ends some time after the last page
    has gone, unless ``always`` is true.
    """

    def __init__(self, source: Source, questions: Questions, *, always: bool = False) -> None:
        self.source = source
        self.questions = questions
        self.board: Board = questions.board
        self.calls: Calls = Calls(self.board)
        self.watches: dict[str, Watch] = {}
        self._always = always
        self._pages = 0
        self._parting: asyncio.TimerHandle | None = None
        self._connecting = BackgroundTasks()

    def watch(self, name: object) -> Watch:
        """Return the watch over one server. Raises `UsageError` for an unknown name."""
        self.observe()
        watch = self.watches.get(name) if isinstance(name, str) else None
        if watch is None:
            raise UsageError(f"there is no server {name!r}")
        return watch

    def observe(self) -> None:
        """Bring the watches and the board up to date with the states of the servers."""
        states = self.source.states()
        for index, (name, state) in enumerate(states.items()):
            watch = self.watches.get(name)
            if watch is None:
                watch = self.watches[name] = Watch()
            watch.follow(state)
            self.board.put("server", name, {"order": index, **watch.described()})
        for name in [name for name in self.watches if name not in states]:
            self.watches.pop(name).stop()
            self.board.put("server", name, None)

    @contextmanager
    def being_watched(self) -> Iterator[None]:
        """Count an open page for the duration of the block."""
        self._pages += 1
        if self._parting is not None:
            self._parting.cancel()
            self._parting = None
        try:
            yield
        finally:
            self._pages -= 1
            if not self._pages and not self._always:
                loop = asyncio.get_running_loop()
                self._parting = loop.call_later(_STOP_AFTER, self.stop)

    def stop(self) -> None:
        """Stop recording until the next `observe`."""
        for watch in self.watches.values():
            watch.stop()

    def connect(self, name: str) -> None:
        """Start connecting a server; the board shows its progress."""
        self._connecting.start(self._connect(name))

    async def _connect(self, name: str) -> None:
        try:
            await self.source.connect(name)
        except UsageError as error:
            self.board.put("notice", name, {"text": str(error)})

    async def close(self) -> None:
        """Stop recording, cancel all calls and connection attempts, and close the source."""
        if self._parting is not None:
            self._parting.cancel()
        self.stop()
        self._connecting.cancel()
        await self._connecting.wait()
        await self.calls.close()
        await self.source.close()
