"""One server under watch: its wire, its lists, and how it stands with it."""

from __future__ import annotations

from typing import Any, Callable

from ..client.client import Client
from ..client.connection.requests import connection_of
from ..errors import UsageError
from ..recording.conversation import Call, read_calls
from ..recording.transcript import write_line
from .described import described_client, described_error, described_recording
from .journal import Journal
from .lists import Lists, fetch_lists, known_lists, recorded_lists
from .login import described_login
from .sources import ServerState


class Watch:
    """Follows one server through its connections.

    What crosses the wire is written to ``journal`` from the first `follow` on, until `stop`.
    """

    def __init__(self) -> None:
        self.journal: Journal = Journal()
        self._state = ServerState("closed")
        self._client: Client | None = None
        self._end: Callable[[], None] | None = None
        self._lists: Lists | None = None
        self._lists_are_of: object = None

    @property
    def client(self) -> Client:
        """The client to make requests with. Raises `UsageError` when there is none."""
        if self._state.client is None:
            raise UsageError("there is no connection to this server to make requests over")
        return self._state.client

    def follow(self, state: ServerState) -> None:
        """Take note of how it stands, and listen to the client of the moment."""
        previous, self._state = self._state, state
        if state.recording is not None and previous.recording is None:
            for transcript in state.recording.transcripts:
                self.journal.take(write_line(transcript.header))
                for record in transcript.records:
                    self.journal.take(write_line(record))
        if state.client is not None and (state.client is not self._client or self._end is None):
            self.stop()
            self._client = state.client
            self._end = state.client.trace_to(self.journal.take)

    def stop(self) -> None:
        """Listen no more. Idempotent."""
        if self._end is not None:
            self._end()
            self._end = None

    def described(self) -> dict[str, Any]:
        """Return what the page is told of the server."""
        state = self._state
        described: dict[str, Any] = {}
        if state.client is not None:
            described = described_client(state.client)
        elif state.recording is not None:
            header = state.recording.transcripts[0].header
            described = described_recording(header, state.recording.conversation)
        return {
            **described,
            "status": state.status,
            "error": described_error(state.error),
            "since": state.since,
            "changed_lists": self.journal.changed_lists,
        }

    async def lists(self, *, fresh: bool) -> Lists:
        """Return what the server offers: as it was asked last in this very session, unless its
        lists have changed.
        """
        if self._state.recording is not None:
            if self._lists is None:
                self._lists = known_lists(recorded_lists(self._state.recording.conversation), {})
            return self._lists
        client = self.client
        now = (client, connection_of(client).generation, self.journal.changed_lists)
        if self._lists is None or fresh or self._lists_are_of != now:
            self._lists = await fetch_lists(client, fresh=fresh)
            self._lists_are_of = now
        return self._lists

    async def login(self) -> dict[str, Any]:
        """Return what the page is told of the login to the server. Raises as `client` does."""
        return await described_login(self.client, self._state.error)

    def calls(self) -> list[Call]:
        """Return the calls made so far, as far as they are kept."""
        if self._state.recording is not None:
            return self._state.recording.conversation.calls
        return read_calls(self.journal.transcripts()).calls
