"""SOCKS 5 (RFC 1928) with its login by user and password (RFC 1929), the client's side."""

from __future__ import annotations

from typing import Callable

MAX_LOGIN_LENGTH = 255
"""Bytes of a user or a password at most: one byte counts them."""

_VERSION = 5
_NO_LOGIN, _BY_PASSWORD, _NO_METHOD = 0, 2, 255
_IPV4, _NAME, _IPV6 = 1, 3, 4


class Socks5Handshake:
    """Asks a proxy for a connection to ``host``.

    ``host``: the 4 or 16 bytes of an IP address, or a name, which the proxy resolves.
    ``credentials``: user and password, for a proxy that demands them. Send `greeting`, then what
    `feed` returns, until ``connected`` is True, or one of these says why it will not be: ``fault``
    (the proxy breaks the protocol), ``login_refused``, or ``reply`` (its code of a failure).
    """

    def __init__(
        self, host: str | bytes, port: int, credentials: tuple[bytes, bytes] | None
    ) -> None:
        self.connected: bool = False
        self.fault: str = ""
        self.login_refused: bool = False
        self.reply: int = 0
        self.trailing: bytes = b""
        """Bytes behind the proxy's last message."""
        if isinstance(host, str):
            name = host.encode("ascii")
            address = bytes([_NAME, len(name)]) + name
        else:
            address = bytes([_IPV4 if len(host) == 4 else _IPV6]) + host
        self._request = bytes([_VERSION, 1, 0]) + address + port.to_bytes(2, "big")
        self._credentials = credentials
        self._received = b""
        self._read: Callable[[], bytes] = self._read_method

    @property
    def greeting(self) -> bytes:
        """The first message: the ways to log in that are offered."""
        methods = [_NO_LOGIN] if self._credentials is None else [_NO_LOGIN, _BY_PASSWORD]
        return bytes([_VERSION, len(methods), *methods])

    def feed(self, data: bytes) -> bytes:
        """Parse bytes from the proxy; return the bytes to send to it."""
        self._received += data
        if len(self._received) < 2:
            return b""
        to_send = self._read()
        if to_send and self._received:
            self.fault = "sent bytes that it was not asked for"
            return b""
        return to_send

    def _read_method(self) -> bytes:
        if self._received[0] != _VERSION:
            said = " but in HTTP" if self._received.startswith(b"HT") else ""
            self.fault = f"does not answer in SOCKS 5{said}"
            return b""
        method = self._received[1]
        self._received = self._received[2:]
        if method == _NO_LOGIN:
            self._read = self._read_reply
            return self._request
        if method == _BY_PASSWORD and self._credentials is not None:
            self._read = self._read_login
            user, password = self._credentials
            return bytes([1, len(user)]) + user + bytes([len(password)]) + password
        self.login_refused = method == _NO_METHOD
        if not self.login_refused:
            self.fault = f"demands a login that was not offered (method {method})"
        return b""

    def _read_login(self) -> bytes:
        self.login_refused = self._received[1] != 0
        self._received = self._received[2:]
        self._read = self._read_reply
        return b"" if self.login_refused else self._request

    def _read_reply(self) -> bytes:
        received = self._received
        if received[0] != _VERSION:
            self.fault = "does not answer in SOCKS 5"
        self.reply = received[1]  # with a failure, some proxies send no more than this
        if self.fault or self.reply or len(received) < 5:
            return b""
        lengths = {_IPV4: 4, _NAME: 1 + received[4], _IPV6: 16}
        if received[3] not in lengths:
            self.fault = f"answers with an unknown type of address ({received[3]})"
            return b""
        end = 4 + lengths[received[3]] + 2  # the address and the port that it connects from
        if len(received) >= end:
            self.connected = True
            self.trailing = received[end:]
        return b""
