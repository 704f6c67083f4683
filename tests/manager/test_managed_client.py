"""The client of one server of a manager: F-MANY-5, F-API-23."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.client.client import Client
from mcpclient.client.connection.options import EraMemory
from mcpclient.errors import ClientClosed, ConnectFailed, ConnectionLost, McpError, PeerError
from mcpclient.manager.managed_client import ManagedClient
from mcpclient.manager.manager import Manager
from mcpclient.net.futures import LoopBound
from tests.client.scripted_server import HANDSHAKE, turns
from tests.manager.fleet import Member

pytestmark = pytest.mark.virtual_time


class RecordingServer:
    """Notes what its client tells, and lets it wait as it does in a manager."""

    def __init__(self, *, repeatable: bool = False) -> None:
        self.heard: list[str] = []
        self.waited: list[float | None] = []
        self.client: Any = None
        self.is_connected = True
        self.loss: McpError | None = None
        self._repeatable = repeatable

    async def connect(self) -> None:
        await self.client.open()

    async def ready(self, seconds: float | None) -> Any:
        self.waited.append(seconds)
        return self.client

    def full_name(self, method: str, tool: str) -> str:
        return f"a__{tool}"

    def is_repeatable(self, tool: str) -> bool:
        return self._repeatable

    def call_failed(self, client: Any, error: McpError) -> None:
        self.heard.append(f"failed: {type(error).__name__}")

    def call_answered(self) -> None:
        self.heard.append("answered")

    def lost(self, client: Any, error: McpError) -> None:
        self.heard.append("lost")

    def renewed(self, client: Any) -> None:
        self.heard.append("renewed")

    def closed_by_user(self, client: Any) -> None:
        self.heard.append("closed")


class Failing(Member):
    """Fails the next tool calls before they are sent."""

    failures: tuple[Exception, ...] = ()

    def send(self, outgoing: Any) -> None:
        if outgoing.message.get("method") == "tools/call" and self.failures:
            error, *rest = self.failures
            self.failures = tuple(rest)
            raise error
        super().send(outgoing)


def client_of(server: RecordingServer, member: Member, **options: Any) -> ManagedClient:
    options.setdefault("protocol_version", HANDSHAKE)
    home = LoopBound()
    found = ManagedClient(member, server, home, options, EraMemory())  # type: ignore[arg-type]
    server.client = found
    return found


REFUSED, RESET = ConnectFailed("s", "refused"), ConnectionLost("reset")


@pytest.mark.parametrize(
    ("failures", "repeatable", "raised", "heard"),
    [
        ((), False, None, ["answered"]),
        ((REFUSED,), False, None, ["failed: ConnectFailed"]),
        ((REFUSED, REFUSED), False, ConnectFailed, ["failed: ConnectFailed"] * 2),
        ((RESET,), False, ConnectionLost, ["failed: ConnectionLost"]),
        ((RESET,), True, None, ["failed: ConnectionLost"]),
        ((PeerError(1, "x"),), True, PeerError, ["failed: PeerError"]),
    ],
)
async def test_when_a_call_is_made_twice(
    failures: tuple[Exception, ...], repeatable: bool, raised: Any, heard: list[str]
) -> None:
    """F-MANY-5: where it did not run, or where running twice does no harm; never a third time."""
    server, member = RecordingServer(repeatable=repeatable), Failing("x")
    async with client_of(server, member) as client:
        server.heard.clear()
        member.failures = failures
        if raised is None:
            assert (await client.call_tool("x", timeout=7)).text == "x"
        else:
            with pytest.raises(raised):
                await client.call_tool("x", timeout=7)
        assert server.heard == heard
        was_repeated = bool(failures) and raised not in (ConnectionLost, PeerError)
        assert server.waited == ([7] if was_repeated else [])
        assert member.calls == ([] if raised else ["x"])


async def test_what_happens_is_told_to_its_server() -> None:
    """F-MANY-5: a new session, a message, the end of the connection, and its closing."""
    server, member = RecordingServer(), Member("x")
    client = client_of(server, member)
    await client.connect()
    member.script.notify("notifications/message", level="info", data="x")
    await turns()
    client._connection.session.connection_lost(RESET)
    client._connection.session.connection_lost(RESET)
    await client.close()
    assert server.heard == ["renewed", "answered", "lost", "closed"]


@pytest.mark.parametrize(("loss", "raised"), [(RESET, ConnectionLost), (None, ClientClosed)])
async def test_a_call_that_its_server_cuts_off_learns_the_reason(loss: Any, raised: Any) -> None:
    """F-MANY-5: "the client is closed" is said only when the user has closed it."""
    server, member = RecordingServer(), Failing("x")
    async with client_of(server, member) as client:
        member.failures, server.loss = (ClientClosed(),), loss
        with pytest.raises(raised):
            await client.call_tool("x")


async def test_the_clients_of_one_manager_share_what_is_known_of_eras() -> None:
    """F-MANY-14, F-LIFE-3: and no other manager in the same program does."""

    def eras(manager: Manager, name: str) -> EraMemory:
        return manager[name]._connection.options.eras

    managers = (Manager({"a": Member("a"), "b": Member("b")}), Manager({"a": Member("a")}))
    async with managers[0] as one, managers[1] as other:
        assert eras(one, "a") is eras(one, "b")
        assert eras(one, "a") is not eras(other, "a")
        assert eras(one, "a") is not Client._eras
