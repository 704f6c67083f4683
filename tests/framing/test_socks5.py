from __future__ import annotations

import pytest

from mcpclient.framing.socks5 import Socks5Handshake
from tests.support.tables import each_row

LOGIN = (b"user", b"secret")
CONNECTED = bytes([5, 0, 0, 1, 10, 0, 0, 1, 4, 56])


def handshake(
    host: str | bytes = "server.test", credentials: tuple[bytes, bytes] | None = None
) -> Socks5Handshake:
    return Socks5Handshake(host, 443, credentials)


def test_user_and_password_are_sent_where_the_proxy_demands_them() -> None:
    """F-HTTP-15: RFC 1929; a proxy that does not, never sees them."""
    made = handshake(credentials=LOGIN)
    assert made.greeting == b"\x05\x02\x00\x02"
    assert made.feed(b"\x05\x02") == b"\x01\x04user\x06secret"
    assert made.feed(b"\x01\x00").startswith(b"\x05\x01\x00\x03")
    assert made.feed(CONNECTED) == b""
    assert made.connected
    assert b"secret" not in handshake(credentials=LOGIN).feed(b"\x05\x00")


@pytest.mark.parametrize(
    "bound", [b"\x01" + bytes(4), b"\x03\x04name", b"\x03\x00", b"\x04" + bytes(16)]
)
@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_a_reply_may_hold_any_address_and_come_in_pieces(bound: bytes, size: int) -> None:
    """F-HTTP-15: and bytes behind it are kept apart."""
    made = handshake()
    made.feed(b"\x05")
    assert made.feed(b"\x00")
    reply = b"\x05\x00\x00" + bound + b"\x00\x50"
    for start in range(0, len(reply), size):
        assert not made.connected
        assert made.feed(reply[start : start + size]) == b""
    assert made.connected
    assert not made.trailing
    made = handshake()
    made.feed(b"\x05\x00")
    made.feed(reply + b"more")
    assert made.trailing == b"more"


def test_a_failure_is_known_by_its_code() -> None:
    """F-HTTP-15: also where the proxy sends no address after it."""
    made = handshake()
    made.feed(b"\x05\x00")
    assert made.feed(b"\x05\x05") == b""
    assert (made.reply, made.connected, made.fault) == (5, False, "")


@each_row(
    ("received", "fault"),
    [
        ([b"HTTP/1.1 400"], "does not answer in SOCKS 5 but in HTTP"),
        ([b"\x00\x5b"], "does not answer in SOCKS 5"),
        ([b"\x05\x02"], "demands a login that was not offered (method 2)"),
        ([b"\x05\x00", b"\x04\x00"], "does not answer in SOCKS 5"),
        ([b"\x05\x00", b"\x05\x00\x00\x02\x00"], "answers with an unknown type of address (2)"),
        ([b"\x05\x00\x05\x00"], "sent bytes that it was not asked for"),
    ],
)
def test_other_answers_are_faults(received: list[bytes], fault: str) -> None:
    """F-HTTP-15: nothing more is sent."""
    made = handshake()
    for data in received:
        sent = made.feed(data)
    assert (made.fault, sent, made.connected) == (fault, b"", False)
