"""What both eras share: F-WIRE-5 and F-API-10."""

from __future__ import annotations

import pytest

from mcpclient.protocol.eras import HandshakeEra, StatelessEra
from mcpclient.protocol.negotiation import REPEATABLE, ClientIdentity


@pytest.mark.parametrize(
    "method", ["initialize", "server/discover", "tools/list", "resources/read", "ping"]
)
def test_reading_may_be_repeated(method: str) -> None:
    """F-WIRE-5: a stale connection may be replaced where sending twice does no harm."""
    assert method in REPEATABLE


@pytest.mark.parametrize("method", ["tools/call", "tasks/cancel", "vendor/unknown", ""])
def test_acting_may_not(method: str) -> None:
    """F-WIRE-5, F-MANY-5: a call that may have run is never repeated by itself."""
    assert method not in REPEATABLE


def test_identity_cannot_be_changed() -> None:
    """F-API-10: one identity per connection, with no capability unless one is given."""
    identity = ClientIdentity({"name": "test", "version": "1"})
    assert identity.capabilities == {}
    with pytest.raises(AttributeError):
        identity.info = {}  # type: ignore[misc]


def test_each_era_knows_what_opens_a_connection() -> None:
    """F-SHOW-10: so that a session that is watched from its middle on can be replayed."""
    identity = ClientIdentity({"name": "n", "version": "1"}, {"roots": {}})
    handshake = HandshakeEra("2025-11-25", identity).opening_request("a").message
    assert (handshake["id"], handshake["method"]) == ("a", "initialize")
    assert handshake["params"]["capabilities"] == {"roots": {}}
    stateless = StatelessEra("2026-07-28", identity).opening_request("a").message
    assert (stateless["id"], stateless["method"]) == ("a", "server/discover")
