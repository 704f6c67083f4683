"""The upkeep of one server's connection: F-MANY-5, seeds 001, 002 (15.4.2) and 004."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from mcpclient import Manager, Reconnect, ServerConfig, Status, StatusChanged
from mcpclient.client.connection import keeper
from mcpclient.client.requests import connection_of
from mcpclient.errors import (
    AuthorizationRequired,
    CallTimeout,
    ConnectFailed,
    ConnectionLost,
    HttpError,
)
from mcpclient.net import futures
from mcpclient.net.chained_log import read_log
from mcpclient.net.login.storage import memory_of
from tests.client.scripted_server import turns
from tests.manager.fleet import Member, statuses, tool
from tests.support.subprocesses import TOP

pytestmark = [pytest.mark.usefixtures("even_chance"), pytest.mark.virtual_time]

STDIO = [sys.executable, str(TOP / "tests" / "servers" / "mcp_stdio.py")]


async def lose(member: Member) -> None:
    member.script.lose()
    await turns()


async def test_a_lost_connection_is_made_anew() -> None:
    """F-MANY-5, seed 001: after half a second, with the tools kept meanwhile, marked as stale."""
    loop = asyncio.get_running_loop()
    member = Member("x")
    events: list[Any] = []
    async with Manager({"a": member}, on_event=events.append) as manager:
        tools = manager.tools
        await lose(member)
        server = manager.servers["a"]
        assert (server.status, server.stale) == (Status.RECONNECTING, True)
        assert isinstance(server.error, ConnectionLost)
        assert server.next_try is not None and server.next_try > server.since
        assert [each.name for each in tools] == ["a__x"] and tools[0].stale
        began = loop.time()
        assert (await manager.call_tool("a__x")).text == "x"
        assert loop.time() - began == 0.5
        assert [server.status, server.error, server.next_try] == [Status.CONNECTED, None, None]
        assert manager.tools is tools and not tools[0].stale
    told = [each for each in events if isinstance(each, StatusChanged)]
    changes = [(each.old.value, each.new.value) for each in told]
    assert changes == [
        ("closed", "connecting"),
        ("connecting", "connected"),
        ("connected", "reconnecting"),
        ("reconnecting", "connected"),
        ("connected", "closed"),
    ]


async def test_a_call_takes_no_longer_than_its_limit_in_all() -> None:
    """F-API-7, F-MANY-5: the wait for the connection counts, and so does a first try."""
    member = flaky(REFUSED)
    async with Manager({"a": member}) as manager:
        loop = asyncio.get_running_loop()
        member.script.answers["tools/call"] = lambda params: None
        member.seconds = 3
        await lose(member)
        began = loop.time()
        with pytest.raises(CallTimeout):
            await manager.call_tool("a__x", timeout=7, max_timeout=8)
        assert loop.time() - began == pytest.approx(8)


class Flaky(Member):
    """Fails calls with ``failures`` before they reach the server, or after (``late``)."""

    failures: list[Exception]
    late = False

    def send(self, outgoing: Any) -> None:
        if outgoing.message.get("method") == "tools/call" and self.failures:
            if self.late:
                super().send(outgoing)
            raise self.failures.pop(0)
        super().send(outgoing)


def flaky(*failures: Exception, late: bool = False, **annotations: bool) -> Flaky:
    member = Flaky(tool("x", annotations=annotations))
    member.failures = list(failures)
    member.late = late
    return member


REFUSED = ConnectFailed("the server", "connection refused")


async def test_three_timeouts_without_a_word_count_as_well() -> None:
    """F-MANY-5: any message from the server begins the count anew."""
    member = Member("x", answers={"tools/call": lambda params: None})
    async with Manager({"a": member}, timeout=1) as manager:
        for number in range(5):
            with pytest.raises(CallTimeout):
                await manager.call_tool("a__x")
            if number == 1:
                member.script.notify("notifications/message", level="info", data="busy")
                await turns()
            assert statuses(manager) == {"a": "reconnecting" if number == 4 else "connected"}


async def test_a_server_that_ends_while_its_tools_are_listed_is_not_connected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F-MANY-3, F-LIFE-7: no one else would notice that its connection is gone."""
    monkeypatch.setattr(futures, "_SLICE", 0)
    losing: list[asyncio.Future[None]] = []

    async def lose_soon() -> None:
        await turns(12)  # the list has come, and its tools are being named
        member.script.lose()

    def list_tools(params: object) -> Any:
        losing.append(asyncio.ensure_future(lose_soon()))
        return {"tools": [tool(f"x{number}") for number in range(50)]}

    member = Member(answers={"tools/list": list_tools})
    async with Manager({"a": member}) as manager:
        assert statuses(manager) == {"a": "failed"}
        assert "while the tools were listed" in str(manager.servers["a"].error)


async def test_a_needed_login_is_forgotten_after_15_minutes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F-AUTH-11: then a call tries again."""
    now = [1000.0]
    monkeypatch.setattr(keeper, "seconds_since_epoch", lambda: now[0])
    member = flaky(HttpError(401, {}, b""))
    async with Manager({"a": member}) as manager:
        for _ in range(2):
            with pytest.raises(HttpError):
                await manager.call_tool("a__x")
        now[0] += 15 * 60
        assert (await manager.call_tool("a__x")).text == "x"


async def test_a_user_who_closes_a_client_means_it() -> None:
    """F-MANY-4: it is the same as disconnecting the server."""
    async with Manager({"a": Member("x")}) as manager:
        await manager["a"].close()
        await turns()
        assert (statuses(manager), list(manager.tools)) == ({"a": "closed"}, [])


class CountingStore(mcpclient.MemoryStore):
    """Counts how often it is read."""

    reads = 0

    async def load(self, key: str) -> Any:
        self.reads += 1
        return await super().load(key)


def test_a_login_that_is_remembered_as_needed_is_not_asked_for() -> None:
    """F-AUTH-11: of many servers, one read tells which; no request is sent; the user may ask."""

    async def main() -> None:
        store = CountingStore()
        login = mcpclient.TwoStepLogin(store)
        auth = mcpclient.OAuth(provider=login)
        urls = {f"s{n}": f"http://127.0.0.1:9/{n}" for n in range(12)}  # no server listens there
        memory = memory_of(login)
        for url in urls.values():
            await memory.mark(url)
        store.reads = 0
        async with Manager(urls, auth=auth) as manager:
            assert set(statuses(manager).values()) == {"needs_auth"}
            assert store.reads <= 1
            with pytest.raises(AuthorizationRequired):
                await manager["s3"].call_tool("x")
            assert (await manager.connect("s3")).status is Status.FAILED  # it was tried
            assert statuses(manager)["s4"] == "needs_auth"

    asyncio.run(main())


def test_an_attempt_that_is_cancelled_by_itself_has_failed() -> None:
    """F-MANY-2: no caller waits for ever for the outcome."""

    class Cancelled(mcpclient.MemoryStore):
        async def load(self, key: str) -> Any:
            raise asyncio.CancelledError

    async def main() -> None:
        auth = mcpclient.OAuth(provider=mcpclient.TwoStepLogin(Cancelled()))
        async with Manager({"a": "http://127.0.0.1:9/"}, auth=auth) as manager:
            assert statuses(manager) == {"a": "failed"}
            with pytest.raises(ConnectFailed, match="cancelled"):
                await asyncio.wait_for(manager["a"].call_tool("x"), 10)

    asyncio.run(main())


@pytest.mark.quick_rows(1)
@pytest.mark.parametrize(
    "behaviour",
    [
        ("--era", "handshake"),
        ("--era", "stateless"),
        ("--on-probe", "ignore"),
        ("--on-probe", "exit"),
    ],
    ids=" ".join,
)
def test_each_try_starts_one_process(tmp_path: Path, behaviour: tuple[str, ...]) -> None:
    """F-MANY-20, F-MANY-5: whatever it speaks; and it is connected when it no longer crashes."""
    log, crash = tmp_path / "log", tmp_path / "crash"
    command = [*STDIO, "--log", str(log), "--crash", str(crash), *behaviour]
    failed: list[Any] = []

    async def main() -> None:
        enough = asyncio.Event()

        def note(**facts: Any) -> None:
            failed.append(facts)
            if len(failed) == 5:
                enough.set()

        hooks = mcpclient.Hooks(on_error=note)
        pauses = Reconnect(delays=(0.01,) * 5 + (60.0,))
        async with Manager({"a": command}, hooks=hooks, reconnect=pauses, stderr="discard") as all_:
            crash.touch()
            log.write_text("")
            connection_of(all_["a"]).session.connection_lost(ConnectionLost("cut"))
            await asyncio.wait_for(enough.wait(), 30)
            assert log.read_text().split().count("start") == 5
            crash.unlink()
            for _ in range(3):  # one may join the try that has just failed, one open it otherwise
                await all_.connect("a")
            assert (await all_.call_tool("a__echo", {"text": "x"})).text == "x"
            assert log.read_text().split().count("start") <= 7

    asyncio.run(main())


async def test_who_is_not_allowed_says_why() -> None:
    """F-MANY-2, F-MANY-9: a loop that prints ``server.error`` printed nothing for these."""
    denied = Member("x")
    servers = {
        "off": ServerConfig("off", target=Member("x"), enabled=False),
        "new": ServerConfig("new", target=Member("x"), state="needs_approval"),
        "bad": ServerConfig("bad", target=denied, state="denied", reason="no gambling"),
    }
    async with Manager(servers) as manager:
        found = {name: str(server.error) for name, server in manager.servers.items()}
        assert found == {
            "off": "server 'off' is disabled: its configuration switches it off",
            "new": "server 'new' needs approval: the user has not agreed to it yet; "
            "approve it and reload()",
            "bad": "server 'bad' is denied: no gambling",
        }
        for name in servers:
            with pytest.raises(mcpclient.ServerUnavailable) as told:
                await manager[name].call_tool("x")
            assert str(told.value) == found[name]
        await manager.connect("off")
        assert manager.servers["off"].error is None
        told_again = str((await manager.connect("bad")).error)
        assert (told_again, statuses(manager)["bad"]) == (found["bad"], "denied")
        assert (statuses(manager)["off"], denied.attempts) == ("connected", 0)


async def test_what_is_asked_of_a_server_that_is_not_there_is_audited(tmp_path: Path) -> None:
    """F-AUDIT-1: a start that is refused, and calls that never had a client."""
    path = tmp_path / "calls.jsonl"
    denied = ServerConfig("bad", target=Member("x"), state="denied", reason="no gambling")
    async with Manager({"bad": denied, "off": Member("y")}, audit=path) as manager:
        await manager.connect("bad")
        await manager.disconnect("off")
        for asked in (
            manager.read_resource("mem://1", server="off"),
            manager.get_prompt("off:p"),
            manager.call_tool("bad__x"),
        ):
            with pytest.raises(mcpclient.ServerUnavailable):
                await asked
    refused = [line.record for line in read_log(path) if line.record["decision"] == "refused"]
    assert [(each["server"], each.get("method", each["kind"]), each["by"]) for each in refused] == [
        ("bad", "start", "policy"),
        ("off", "resources/read", "connection"),
        ("off", "prompts/get", "connection"),
        ("bad", "tools/call", "policy"),
    ]
    assert refused[0]["reason"] == "server 'bad' is denied: no gambling"


async def test_a_server_that_is_closed_while_its_configuration_changes_leaves_no_connection() -> (
    None
):
    """F-MANY-23: the client of the earlier configuration was not closed."""

    class Lingering(Member):
        closings = 0

        async def close(self) -> None:
            self.closings += 1
            await asyncio.sleep(3)
            await super().close()

    before, after = Lingering("x"), Member("y")
    async with Manager({"a": before}) as manager:
        config = ServerConfig("a", target=after)
        server = manager.servers["a"]
        object.__setattr__(server._shared, "admit", lambda *given: asyncio.sleep(1, config))
        client = manager["a"]
        await lose(before)
        await asyncio.sleep(2)  # the pause is over, the entry read, and the old client closes
        assert server.config is config
        loop = asyncio.get_running_loop()
        began = loop.time()
        await manager.disconnect("a")
        assert before.closings >= 1 and loop.time() > began  # it was waited for
        assert not client.is_connected and after.attempts == 0
        await manager.connect("a")
        assert [each.raw_name for each in manager.tools] == ["y"]
