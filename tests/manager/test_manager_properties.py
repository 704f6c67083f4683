"""A manager in a world where anything may happen at any time: F-MANY-2, F-MANY-5."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mcpclient import Manager, Status, StatusChanged
from mcpclient.client.connection.reconnection import OUTCOMES, TABLE, reach
from mcpclient.errors import McpError
from tests.client.scripted_server import turns
from tests.manager.fleet import Member
from tests.support.properties import examples
from tests.support.virtual_time import VirtualTimeLoop, _shut_down

names = st.sampled_from(["a", "b"])

STEPS = {(before, after) for (before, _), after in TABLE.items()} | {
    (before, reach(before, outcome)[0]) for before in Status for outcome in OUTCOMES
}


class World(RuleBasedStateMachine):
    """Two servers that are lost, refuse, and come back, while calls and the user go on."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = VirtualTimeLoop(limit=10_000_000.0)
        self.members = {name: Counted("x") for name in ("a", "b")}
        self.told: list[Any] = []
        self.calls: list[asyncio.Task[Any]] = []
        self.manager = self.do(self.begin())

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)

    async def begin(self) -> Manager:
        return await Manager(dict(self.members), on_event=self.told.append, timeout=60)

    @rule(name=names)
    def the_connection_is_lost(self, name: str) -> None:
        async def lose() -> None:
            gone = self.members[name].script.gone
            if gone is not None and not gone.done():
                gone.set_result(None)
            await turns()

        self.do(lose())

    @rule(name=names, count=st.integers(1, 4))
    def attempts_will_fail(self, name: str, count: int) -> None:
        self.members[name].refusals = count

    @rule(name=names)
    def somebody_calls(self, name: str) -> None:
        token = len(self.calls)

        async def call() -> None:
            work = self.manager[name].call_tool("x", {"token": token})
            self.calls.append(asyncio.ensure_future(work))
            await turns(5)

        self.do(call())

    @rule(name=names)
    def the_user_disconnects(self, name: str) -> None:
        self.do(self.manager.disconnect(name))

    @rule(name=names)
    def the_user_connects(self, name: str) -> None:
        self.do(self.manager.connect(name))

    @rule(seconds=st.sampled_from([0.0, 0.3, 1.0, 45.0]))
    def time_passes(self, seconds: float) -> None:
        self.do(asyncio.sleep(seconds))

    @invariant()
    def every_change_of_status_is_in_the_table(self) -> None:
        last: dict[str, Status] = {}
        for event in self.told:
            if isinstance(event, StatusChanged):
                assert (event.old, event.new) in STEPS
                assert last.get(event.server, event.old) is event.old  # none is left out
                last[event.server] = event.new

    @invariant()
    def no_call_runs_twice(self) -> None:
        for member in self.members.values():
            assert len(member.tokens) == len(set(member.tokens))

    def teardown(self) -> None:
        async def end() -> None:
            for member in self.members.values():
                member.refusals = 0
            await asyncio.sleep(200)  # every call has a limit of 60 s, or waits for a connection
            assert all(task.done() for task in self.calls)
            for task in self.calls:
                error = task.exception()
                assert error is None or isinstance(error, McpError), error
            for server in self.manager.servers.values():
                assert server.status in (Status.CONNECTED, Status.CLOSED, Status.FAILED)
            await self.manager.close()
            await turns(50)

        try:
            self.do(end())
        finally:
            _shut_down(self.loop)


class Counted(Member):
    """Notes the tokens of the calls that it has run, and takes half a second for each."""

    def __init__(self, *tools: Any) -> None:
        self.tokens: list[int] = []
        super().__init__(*tools, answers={"tools/call": self._run_slowly})

    async def _run_slowly(self, params: dict[str, Any]) -> dict[str, Any]:
        self.tokens.append(params["arguments"]["token"])
        await asyncio.sleep(0.5)
        return {"content": []}


World.TestCase.settings = examples(30, stateful_step_count=20)
TestWorld = World.TestCase
