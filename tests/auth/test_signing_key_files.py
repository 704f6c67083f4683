from __future__ import annotations

import base64

import pytest

from mcpclient.auth.signing import read_private_pem
from mcpclient.errors import UsageError
from tests.support.tables import each_row

from .test_signing_p256 import PRIVATE, PUBLIC

# The key of RFC 6979 A.2.5 in the forms OpenSSL writes.
SECRET = PRIVATE.to_bytes(32, "big")
POINT = bytes.fromhex("a144034200") + b"\x04" + b"".join(n.to_bytes(32, "big") for n in PUBLIC)
CURVE = bytes.fromhex("a00a06082a8648ce3d030107")
ALGORITHM = bytes.fromhex("301306072a8648ce3d020106082a8648ce3d030107")
SEC1_IN_PKCS8 = bytes.fromhex("306b0201010420") + SECRET + POINT
PKCS8 = bytes.fromhex("308187020100") + ALGORITHM + bytes.fromhex("046d") + SEC1_IN_PKCS8
# Without the public key, only the name of the curve tells whose secret it is.
BARE = bytes.fromhex("3041020100") + ALGORITHM + bytes.fromhex("042730250201010420") + SECRET
SAME_LENGTH_CURVE = ALGORITHM[:-1] + b"\x01"
SEC1 = bytes.fromhex("30770201010420") + SECRET + CURVE + POINT


def pem(der: bytes, label: str = "PRIVATE KEY") -> str:
    text = base64.encodebytes(der).decode()
    return f"-----BEGIN {label}-----\n{text}-----END {label}-----\n"


@each_row(
    "text",
    [
        pem(PKCS8),
        pem(BARE),
        pem(PKCS8).encode(),
        pem(PKCS8).replace("\n", "\r\n"),
        "Bag Attributes\n  friendlyName: x\n" + pem(PKCS8),
        pem(SEC1, "EC PRIVATE KEY"),
        pem(bytes.fromhex("06082a8648ce3d030107"), "EC PARAMETERS") + pem(SEC1, "EC PRIVATE KEY"),
        # Without the optional public key, and with a version 2 of PKCS#8.
        pem(bytes.fromhex("30250201010420") + SECRET, "EC PRIVATE KEY"),
        pem(PKCS8.replace(bytes.fromhex("308187020100"), bytes.fromhex("308187020101"))),
    ],
)
def test_the_forms_openssl_writes(text: str | bytes) -> None:
    """F-AUTH-6: PKCS#8 and SEC1, with the text around them."""
    assert read_private_pem(text) == PRIVATE


def flipped(der: bytes, secret: bytes = SECRET) -> list[bytes]:
    """The DER with each octet of the private key changed, one at a time."""
    start = der.index(secret)
    return [
        der[:place] + bytes([der[place] ^ 1]) + der[place + 1 :]
        for place in range(start, start + len(secret), 5)
    ]


@each_row(
    "text",
    [
        *(pem(der) for der in flipped(PKCS8)),
        *(pem(der, "EC PRIVATE KEY") for der in flipped(SEC1)),
        # Too short, too long, zero, and not below the order of the curve.
        pem(bytes.fromhex("3024020101041f") + SECRET[:31], "EC PRIVATE KEY"),
        pem(bytes.fromhex("30260201010421") + b"\x00" + SECRET, "EC PRIVATE KEY"),
        pem(bytes.fromhex("30250201010420") + bytes(32), "EC PRIVATE KEY"),
        pem(bytes.fromhex("30250201010420") + b"\xff" * 32, "EC PRIVATE KEY"),
        pem(SEC1 + b"\x00", "EC PRIVATE KEY"),
        pem(PKCS8 + b"\x05\x00"),
        # A character outside base64 would shift all that follows, or be passed over.
        pem(PKCS8).replace("M", "*", 1),
        pem(PKCS8).replace("M", "M=", 1),
    ],
)
def test_a_damaged_key_is_no_other_key(text: str) -> None:
    """F-AUTH-6: it would sign without an error, and be refused everywhere."""
    with pytest.raises(UsageError):
        read_private_pem(text)


OTHER_CURVE = bytes.fromhex("301006072a8648ce3d020106052b81040022")
RSA = bytes.fromhex("300d06092a864886f70d0101010500")


@each_row(
    "text",
    [
        "",
        "no key",
        pem(b"", "PUBLIC KEY"),
        pem(PKCS8, "ENCRYPTED PRIVATE KEY"),
        pem(BARE.replace(ALGORITHM, SAME_LENGTH_CURVE)),
        "Proc-Type: 4,ENCRYPTED\n" + pem(SEC1, "EC PRIVATE KEY"),
        pem(b""),
        pem(b"\x30"),
        pem(PKCS8[:-80]),
        pem(b"\x30\x80"),
        pem(bytes.fromhex("30200201000403") + OTHER_CURVE),
        pem(bytes.fromhex("3017020100") + OTHER_CURVE + b"\x04\x00"),
        pem(bytes.fromhex("3014020100") + RSA + b"\x04\x00"),
        pem(SEC1),
        pem(bytes.fromhex("30770201020420") + SECRET + CURVE + POINT, "EC PRIVATE KEY"),
        pem(SEC1.replace(CURVE, bytes.fromhex("a00a06082a8648ce3d030108")), "EC PRIVATE KEY"),
        "-----BEGIN PRIVATE KEY-----\n!!!\n-----END PRIVATE KEY-----",
    ],
)
def test_other_keys_are_refused_without_quoting_them(text: str) -> None:
    """F-AUTH-6 F-AUTH-12: encrypted, damaged, RSA, another curve; the error shows nothing of it."""
    with pytest.raises(UsageError) as caught:
        read_private_pem(text)
    assert caught.value.__cause__ is None
    assert not any(line and line in str(caught.value) for line in text.splitlines()[1:-1])
