"""What is remembered of servers, and when it is left out of account."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mcpclient.client.link import era_memory
from mcpclient.client.link.era_memory import EraMemory, eras_of_this_process
from mcpclient.client.link.options import Options
from mcpclient.protocol.versions import Era


def test_each_server_has_its_own_era() -> None:
    """F-LIFE-3"""
    memory = EraMemory()
    memory.remember("a", Era.HANDSHAKE)
    memory.remember("b", Era.STATELESS)
    memory.remember("a", Era.STATELESS)
    memory.remember(None, Era.HANDSHAKE)
    assert (memory.recall("a"), memory.recall("b")) == (Era.STATELESS, Era.STATELESS)
    assert memory.recall("c") is None and memory.recall(None) is None
    assert len(memory) == 2


def test_what_fails_is_doubted_every_other_time() -> None:
    """F-LIFE-3: a server that was replaced is found out, one that crashes is mostly started once"""
    memory = EraMemory()
    memory.failed("a")
    memory.failed(None)
    memory.remember("a", Era.HANDSHAKE)
    seen = []
    for _ in range(4):
        seen.append(memory.recall("a"))
        memory.failed("a")
    assert seen == [Era.HANDSHAKE, None, Era.HANDSHAKE, None]
    memory.failed("a")
    memory.remember("a", Era.STATELESS)
    assert memory.recall("a") is Era.STATELESS


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-LIFE-3: the server that was met last is known; the one longest ago is forgotten."""
    monkeypatch.setattr(era_memory, "_MOST_SERVERS", 2)
    memory = EraMemory()
    for name in "abac":
        memory.remember(name, Era.HANDSHAKE)
    assert [memory.recall(name) is None for name in "abc"] == [False, True, False]
    assert len(memory) == 2


def test_clients_share_a_memory_unless_they_are_given_one() -> None:
    """F-LIFE-3: one that met a server tells the others."""
    one, other = Options.of({}, {}), Options.of({}, {})
    assert one.eras is other.eras is eras_of_this_process()
    assert replace(one, eras=EraMemory()).eras is not other.eras
