"""Reading an EC P-256 private key from PEM: PKCS#8 (RFC 5958) or SEC1 (RFC 5915), unencrypted."""

from __future__ import annotations

import base64
import re

from ..errors import UsageError
from .p256 import ORDER, generator_multiple

_SEQUENCE, _INTEGER, _OCTETS, _OBJECT_ID = 0x30, 0x02, 0x04, 0x06
_BITS, _PARAMETERS, _PUBLIC_KEY = 0x03, 0xA0, 0xA1

# The octets of a private key, and of a coordinate of a public one (RFC 5915 section 3).
_SIZE = 32
_EC_PUBLIC_KEY = bytes.fromhex("2a8648ce3d0201")  # 1.2.840.10045.2.1
_P256 = bytes.fromhex("2a8648ce3d030107")  # 1.2.840.10045.3.1.7

_PEM = re.compile(r"-----BEGIN ([A-Z ]+)-----(.*?)-----END \1-----", re.DOTALL)


def read_private_pem(text: str | bytes) -> int:
    """The private number in ``text``. Raises UsageError, which never shows any of the key.

    A key that does not fit its public key is damaged: it would sign, and no server would accept it.
    """
    if isinstance(text, bytes):
        text = text.decode("ascii", "replace")
    blocks = {match[1]: match[2] for match in _PEM.finditer(text)}
    if "ENCRYPTED PRIVATE KEY" in blocks or "Proc-Type:" in text:
        raise UsageError("the private key is encrypted; decrypt it first or give a Signer")
    try:
        # Errors from here on are replaced: they could quote the key.
        if "PRIVATE KEY" in blocks:
            return _read_pkcs8(_decode(blocks["PRIVATE KEY"]))
        if "EC PRIVATE KEY" in blocks:
            return _read_sec1(_decode(blocks["EC PRIVATE KEY"]))
    except (ValueError, IndexError):
        raise UsageError("the private key is not an unencrypted EC P-256 key") from None
    raise UsageError("there is no private key in PEM form (PKCS#8 or SEC1) in the text")


def _decode(block: str) -> bytes:
    # Anything but base64 is damage, and must not be passed over.
    return base64.b64decode("".join(block.split()), validate=True)


def _read_pkcs8(der: bytes) -> int:
    fields = _Der(_Der(der).only(_SEQUENCE))
    fields.take(_INTEGER)
    algorithm = _Der(fields.take(_SEQUENCE))
    if algorithm.take(_OBJECT_ID) != _EC_PUBLIC_KEY or algorithm.take(_OBJECT_ID) != _P256:
        raise ValueError("another algorithm or curve")
    return _read_sec1(fields.take(_OCTETS))


def _read_sec1(der: bytes) -> int:
    fields = _Der(_Der(der).only(_SEQUENCE))
    if fields.take(_INTEGER) != b"\x01":
        raise ValueError("another version")
    octets = fields.take(_OCTETS)
    private = int.from_bytes(octets, "big")
    if len(octets) != _SIZE or not 0 < private < ORDER:
        raise ValueError("no private key of this curve")
    # PKCS#8 names the curve outside and leaves this out.
    if (
        fields.next_tag() == _PARAMETERS
        and _Der(fields.take(_PARAMETERS)).take(_OBJECT_ID) != _P256
    ):
        raise ValueError("another curve")
    if fields.next_tag() == _PUBLIC_KEY:
        point = _Der(fields.take(_PUBLIC_KEY)).only(_BITS)
        if point not in _public_forms(private):
            raise ValueError("the public key of another private key")
    if fields.next_tag() is not None:
        raise ValueError("data after the key")
    return private


def _public_forms(private: int) -> tuple[bytes, bytes]:
    """The public key as a bit string holds it: uncompressed and compressed (SEC 1, 2.3.3)."""
    x, y = (number.to_bytes(_SIZE, "big") for number in generator_multiple(private))
    return b"\x00\x04" + x + y, b"\x00" + bytes([2 + y[-1] % 2]) + x


class _Der:
    """A reader of the DER elements in ``data``, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def next_tag(self) -> int | None:
        """The tag of the next element, None at the end."""
        return self._data[self._position] if self._position < len(self._data) else None

    def only(self, tag: int) -> bytes:
        """The content of the next element, which must have ``tag`` and be the last."""
        content = self.take(tag)
        if self.next_tag() is not None:
            raise ValueError("more than one element")
        return content

    def take(self, tag: int) -> bytes:
        """The content of the next element, which must have ``tag``."""
        if self.next_tag() != tag:
            raise ValueError("another element")
        length = self._data[self._position + 1]
        start = self._position + 2
        if length & 0x80:
            size = length & 0x7F
            length = int.from_bytes(self._data[start : start + size], "big")
            start += size
        end = start + length
        if end > len(self._data):
            raise ValueError("cut short")
        self._position = end
        return self._data[start:end]
