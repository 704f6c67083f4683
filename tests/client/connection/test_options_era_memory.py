"""What is remembered of servers, and when it is left out of account."""

from __future__ import annotations

import pytest

from mcpclient.client.client import Client
from mcpclient.client.connection import options
from mcpclient.client.connection.options import EraMemory, Options
from mcpclient.protocol.negotiation import Era


def test_each_server_has_its_own_era() -> None:
    """F-LIFE-3"""
    memory = EraMemory()
    memory.remember("a", Era.HANDSHAKE)
    memory.remember("b", Era.STATELESS)
    memory.remember("a", Era.STATELESS)
    memory.remember(None, Era.HANDSHAKE)
    assert (memory.recall("a"), memory.recall("b")) == (Era.STATELESS, Era.STATELESS)
    assert memory.recall("c") is None and memory.recall(None) is None


@pytest.mark.parametrize(
    ("era", "is_certain", "ways"),
    [
        (Era.HANDSHAKE, True, [Era.HANDSHAKE, None]),
        (Era.STATELESS, True, [Era.STATELESS, Era.HANDSHAKE]),
        (Era.HANDSHAKE, False, [None, Era.HANDSHAKE]),
    ],
)
def test_what_fails_is_opened_in_the_other_way(
    era: Era, is_certain: bool, ways: list[Era | None]
) -> None:
    """F-LIFE-3, F-MANY-20: a server that was replaced is found out, and no attempt starts two."""
    memory = EraMemory()
    memory.failed("a")
    memory.failed(None)
    assert not memory.starts_once("a") and not memory.starts_once(None)
    memory.remember("a", era, is_certain=is_certain)
    assert memory.starts_once("a") is not is_certain
    seen = []
    for _ in range(4):
        seen.append(memory.recall("a"))
        memory.failed("a")
        assert memory.starts_once("a")
    assert seen == ways * 2
    memory.remember("a", Era.STATELESS)
    assert memory.recall("a") is Era.STATELESS and not memory.starts_once("a")


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-LIFE-3: the server that was met last is known; the one longest ago is forgotten."""
    monkeypatch.setattr(options, "_MAX_SERVERS", 2)
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
