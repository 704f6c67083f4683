"""F-API-18: one mechanism makes the blocking classes."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import AsyncIterator
from typing import Any, Callable

import pytest

import mcpclient
from mcpclient import UsageError, sync
from mcpclient.sync import client as blocking
from mcpclient.sync.client import Blocking, Owned

PAIRS = [
    (sync.Client, mcpclient.Client),
    (sync.Manager, mcpclient.Manager),
    (sync.Subscription, mcpclient.Subscription),
    (sync.Toolbox, mcpclient.Toolbox),
    (sync.AgentTool, mcpclient.AgentTool),
]


class Part:
    """Something that a method returns."""

    async def name(self) -> str:
        await asyncio.sleep(0)
        return "part"


class Whole(AsyncIterator[Part]):
    def __init__(self, start: int, on_event: Callable[[int], Any] | None = None) -> None:
        self.start = start
        self.on_event = on_event
        self._left = 2

    async def add(self, number: int = 1, *, on_progress: Any = None) -> int:
        """Add something."""
        self.start += number
        if on_progress is not None:
            await on_progress(self.start)
        return self.start

    def part(self) -> Part:
        return Part()

    @property
    def other(self) -> Part:
        """Another part."""
        return Part()

    async def itself(self) -> Whole:
        return self

    async def _private(self) -> None: ...

    async def __anext__(self) -> Part:
        if not self._left:
            raise StopAsyncIteration
        self._left -= 1
        return Part()

    async def __aenter__(self) -> Whole:
        return self

    async def __aexit__(self, *unused: object) -> None:
        self.start = 0

    async def close(self) -> None: ...


class BlockingPart(Blocking, of=Part):
    """Its twin."""


class BlockingWhole(Owned, of=Whole):
    """Its twin."""

    start: int


def test_async_with_and_async_for_become_with_and_for() -> None:
    made: Any = BlockingWhole(3)
    with made as whole:
        assert [part.name() for part in whole] == ["part", "part"]
        assert list(whole) == []
    assert whole.start == 0


def test_handlers_are_moved_to_workers() -> None:
    seen: list[int] = []
    BlockingWhole(3).add(on_progress=seen.append)
    assert seen == [4]


def test_only_some_members_may_be_taken_over() -> None:
    class Little(Blocking, of=Whole, only=("add", "__anext__")):
        """Has two methods."""

    assert hasattr(Little, "add") and hasattr(Little, "__next__")
    assert not hasattr(Little, "part") and not hasattr(Little, "__enter__")


@pytest.mark.parametrize(("blocking", "asynchronous"), PAIRS)
def test_every_public_method_has_its_twin(blocking: type, asynchronous: type) -> None:
    """F-API-18: nothing that the asynchronous class can do is missing, or async by mistake."""
    for name in dir(asynchronous):
        if not name.startswith("_"):
            assert not inspect.iscoroutinefunction(getattr(blocking, name)), name


class Connection:
    """Something that is connected and closed; it says how often."""

    def __init__(self, name: str, on_event: Callable[[int], Any] | None = None) -> None:
        self.name = name
        self.on_event = on_event
        self.connected = self.attempts = 0
        self.fails = False

    async def connect(self) -> Connection:
        self.attempts += 1
        if self.fails:
            raise LookupError("not there")
        self.connected = max(self.connected, 1)
        return self

    async def close(self) -> None:
        self.connected = 0

    async def ask(self) -> tuple[str, int]:
        return self.name, self.connected


class BlockingConnection(Owned, of=Connection):
    _connecting = "connect"

    @property
    def inner(self) -> Any:
        return self._object


def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do what happens in a child, as far as these objects know."""
    monkeypatch.setattr(os, "getpid", lambda: -1)
    blocking._make_all_anew()


def test_after_a_fork_it_belongs_to_the_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-API-18: a plain error that names the cure; what was never used is free."""
    used, unused = BlockingConnection("used"), BlockingConnection("unused")
    used.connect()
    forked(monkeypatch)
    for ask in (used.ask, lambda: used.submit("ask")):
        with pytest.raises(UsageError, match=r'after_fork="reconnect", or make another in this'):
            ask()
    assert unused.ask() == ("unused", 0)


def test_after_a_fork_it_may_be_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-API-18: the first call connects, also one that is submitted; closing does not."""
    made = [BlockingConnection(name, after_fork="reconnect") for name in ("a", "b", "c", "d")]
    for each in made[:3]:
        each.connect()
    of_parent = [each.inner for each in made]
    forked(monkeypatch)
    called, submitted, closed, unused = made
    called.inner.fails = True
    with pytest.raises(LookupError):
        called.ask()
    called.inner.fails = False
    assert called.ask() == ("a", 1) and called.ask() == ("a", 1)
    assert submitted.submit("ask").result(5) == ("b", 1)
    closed.close()
    assert closed.ask() == ("c", 0)
    assert [each.inner.attempts for each in made] == [2, 1, 0, 0]
    assert unused.ask() == ("d", 0) and unused.inner is of_parent[3]
    assert [each.connected for each in of_parent[:3]] == [1, 1, 1]
    assert all(each.inner is not old for each, old in zip(made[:3], of_parent))


def test_what_cannot_be_submitted_is_said() -> None:
    for name in ("nothing", "_begin", "name"):
        with pytest.raises(UsageError, match="no blocking method"):
            BlockingConnection("x").submit(name)
    with pytest.raises(UsageError, match="after_fork is"):
        BlockingConnection("x", after_fork="restart")  # type: ignore[arg-type]
