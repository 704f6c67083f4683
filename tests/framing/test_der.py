"""Facts of certificates, read without a library for them."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from mcpclient.framing.der import issuer_of, signature_hash

RSA = rsa.generate_private_key(65537, 1024)
ISSUER = x509.Name(
    [
        x509.NameAttribute(NameOID.COUNTRY_NAME, "DE"),
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Zscaler Müller"),
        x509.NameAttribute(NameOID.COMMON_NAME, "Interceptor"),
    ]
)


def certificate(
    key: Any = RSA, algorithm: Any = None, issuer: x509.Name = ISSUER, **options: Any
) -> bytes:
    now = datetime.datetime(2026, 1, 1)
    builder = x509.CertificateBuilder(
        issuer, x509.Name([]), key.public_key(), 1, now, now + datetime.timedelta(1)
    )
    return builder.sign(key, algorithm, **options).public_bytes(Encoding.DER)


@pytest.mark.parametrize(
    ("issuer", "name"),
    [
        (ISSUER, "Interceptor, Zscaler Müller"),
        (x509.Name([]), ""),
        (x509.Name([x509.NameAttribute(NameOID.COUNTRY_NAME, "DE")]), ""),
        (
            x509.Name(
                [x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Ä", x509.name._ASN1Type.BMPString)]
            ),
            "Ä",
        ),
    ],
)
def test_the_issuer(issuer: x509.Name, name: str) -> None:
    """F-HTTP-15: what a user knows it by."""
    assert issuer_of(certificate(algorithm=hashes.SHA256(), issuer=issuer)) == name


@pytest.mark.parametrize("old", [bytes([4]), bytes([5])])
def test_old_hashes_count_as_sha_256(old: bytes) -> None:
    """F-HTTP-15: MD5 and SHA-1."""
    found = certificate(algorithm=hashes.SHA256())
    family = bytes.fromhex("2a864886f70d0101")
    assert signature_hash(found.replace(family + bytes([11]), family + old)) == "sha256"


def test_any_bytes_are_read() -> None:
    """F-HTTP-15: a hostile server chooses them."""
    whole = certificate(algorithm=hashes.SHA256())
    for index in range(len(whole)):
        for damaged in (
            whole[:index],
            whole[:index] + b"\xff" + whole[index + 1 :],
            whole[:index] + b"\x00" + whole[index + 1 :],
        ):
            assert isinstance(issuer_of(damaged), str)
            assert signature_hash(damaged) in ("", "sha256", "sha384", "sha512")
