"""The causes of the matrix' faults, one module for each kind of transport."""

from __future__ import annotations

from tests.faults.faulty_peers.http import (
    HttpChannelPeer,
    HttpJsonPeer,
    HttpSsePeer,
    HttpSseWithIdsPeer,
)
from tests.faults.faulty_peers.in_process import InProcessPeer
from tests.faults.faulty_peers.legacy_sse import LegacyPostPeer, LegacySsePeer
from tests.faults.faulty_peers.lines import TcpPeer, UnixPeer
from tests.faults.faulty_peers.peer import Peer
from tests.faults.faulty_peers.stdio import StdioPeer
from tests.faults.faulty_peers.websocket import WebSocketPeer

PEERS: dict[str, type[Peer]] = {
    "stdio": StdioPeer,
    "tcp": TcpPeer,
    "unix": UnixPeer,
    "ws": WebSocketPeer,
    "http-json": HttpJsonPeer,
    "http-sse": HttpSsePeer,
    "http-sse-ids": HttpSseWithIdsPeer,
    "http-get": HttpChannelPeer,
    "sse": LegacySsePeer,
    "sse-post": LegacyPostPeer,
    "in-process": InProcessPeer,
}
