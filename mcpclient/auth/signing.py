"""Keys and signatures of JSON Web Tokens: ES256 here, anything else through a `Signer`.

The arithmetic is `p256`'s, in pure Python and not constant-time (its docstring says what that
means). One signature takes about a millisecond.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Protocol

from ..errors import UsageError
from .key_files import read_private_pem
from .p256 import ORDER, generator_multiple, sign_digest


class Signer(Protocol):
    """A private key as the flows see it: in memory, in hardware, or behind a library.

    ``algorithm``: its JWS name, for example "RS256" or "EdDSA". ``key_id``: put into the header as
    ``kid`` unless None.
    """

    @property
    def algorithm(self) -> str:
        """The JWS name of what `sign` does (RFC 7518 section 3.1)."""
        ...

    @property
    def key_id(self) -> str | None:
        """The name under which the authorization server knows the key, or None."""

    def sign(self, message: bytes) -> bytes:
        """The signature of ``message`` in the form JWS wants (for ECDSA: r and s, not DER)."""
        ...


class Es256Key:
    """An ECDSA P-256 key that signs with SHA-256 (JWS "ES256"); a `Signer`.

    Signatures are deterministic (RFC 6979). Not constant-time; see `p256`.
    """

    algorithm = "ES256"

    def __init__(self, private: int, *, key_id: str | None = None) -> None:
        if not 0 < private < ORDER:
            raise UsageError("the private key is out of range")
        self._private = private
        self._public = generator_multiple(private)
        self.key_id = key_id

    @classmethod
    def from_pem(cls, text: str | bytes, *, key_id: str | None = None) -> Es256Key:
        """Read an unencrypted PKCS#8 or SEC1 key in PEM form. Raises UsageError."""
        return cls(read_private_pem(text), key_id=key_id)

    @classmethod
    def from_random(cls, seed: bytes) -> Es256Key:
        """The key that ``seed``, at least 40 random bytes, stands for (FIPS 186-5 A.2.1)."""
        if len(seed) < 40:
            raise UsageError("a key is made from at least 40 random bytes")
        return cls(int.from_bytes(seed, "big") % (ORDER - 1) + 1)

    @classmethod
    def from_secret(cls, text: str) -> Es256Key:
        """The key that `to_secret` gave ``text`` for. Raises UsageError."""
        try:
            private = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except ValueError:
            raise UsageError("the stored key is damaged") from None
        return cls(int.from_bytes(private, "big"))

    def to_secret(self) -> str:
        """The private key as JWK writes it (``d``), for a store that keeps it safe."""
        return base64url(self._private.to_bytes(32, "big"))

    def public_jwk(self) -> dict[str, str]:
        """The public key as a JSON Web Key (RFC 7517)."""
        x, y = (base64url(number.to_bytes(32, "big")) for number in self._public)
        return {"kty": "EC", "crv": "P-256", "x": x, "y": y}

    def sign(self, message: bytes) -> bytes:
        """The 64 bytes r, s over the SHA-256 of ``message`` (RFC 7518 section 3.4)."""
        r, s = sign_digest(self._private, hashlib.sha256(message).digest())
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")

    def __repr__(self) -> str:
        return f"Es256Key(key_id={self.key_id!r})"


def sign_jwt(header: Mapping[str, object], claims: Mapping[str, object], signer: Signer) -> str:
    """A JWT in compact serialization (RFC 7515 section 7.1); ``alg`` and ``kid`` are added."""
    full_header: dict[str, object] = {"alg": signer.algorithm, **header}
    if signer.key_id is not None:
        full_header["kid"] = signer.key_id
    parts = (_json(full_header), _json(claims))
    signed = ".".join(base64url(part) for part in parts)
    return f"{signed}.{base64url(signer.sign(signed.encode('ascii')))}"


def base64url(data: bytes) -> str:
    """Base64 for URLs without padding (RFC 7515 section 2)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _json(value: Mapping[str, object]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("utf-8")
