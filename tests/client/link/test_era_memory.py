"""What is remembered of servers, and when it is left out of account."""

from __future__ import annotations

import pytest

from mcpclient.client.client import Client
from mcpclient.client.link import era_memory
from mcpclient.client.link.era_memory import EraMemory
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
    monkeypatch.setattr(era_memory, "_MAX_SERVERS", 2)
    memory = EraMemory()
    for name in "abac":
        memory.remember(name, Era.HANDSHAKE)
    assert [memory.recall(name) is None for name in "abc"] == [False, True, False]


def test_clients_share_a_memory() -> None:
    """F-LIFE-3: one that met a server tells the others."""
    one, other = (Client(f"http://{host}.example/mcp") for host in "ab")
    one._connection.expect("2025-11-25")
    assert other._connection.options.eras.recall(one._connection.route.key) is Era.HANDSHAKE
    assert Options.of({}, {}).eras is not Options.of({}, {}).eras
