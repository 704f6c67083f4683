"""Keys, JSON Web Tokens and DPoP proofs: ES256 here, other algorithms through a `Signer`.

Private keys are read from unencrypted PEM: PKCS#8 (RFC 5958) or SEC1 (RFC 5915). ES256 is ECDSA on
the curve P-256 with SHA-256 and deterministic nonces (FIPS 186-5, RFC 6979), for the few signatures
of a client; one takes about a millisecond. It is not constant-time: the time of Python's integer
arithmetic depends on the values, so an attacker who measures many signatures may learn about the
key. Where that matters, use a `Signer` that keeps the key in hardware or in a library for it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from os import environ
from typing import Protocol

from ..errors import UsageError
from .effects import Flow, Now, RandomBytes, Response
from .url_guard import origin_of

_FIPS_FLAG = "/proc/sys/crypto/fips_enabled"

# A key of this curve has each element at a fixed place (RFC 5915 section 3, RFC 5958 section 2):
# the private key in 32 octets, then optionally the curve, which PKCS#8 names outside, and the
# public key, uncompressed or compressed. PKCS#8 may append attributes.
_EC_PUBLIC_KEY = re.escape(bytes.fromhex("06072a8648ce3d0201"))  # 1.2.840.10045.2.1
_P256 = re.escape(bytes.fromhex("06082a8648ce3d030107"))  # 1.2.840.10045.3.1.7
_SEQUENCE = rb"\x30(?:[\x00-\x7f]|\x81.)"
_KEY = (
    rb"%b\x02\x01\x01\x04\x20(.{32})(?:\xa0\x0a%b)?(?:\xa1[\x24\x44]\x03[\x22\x42](.{34}|.{66}))?"
    % (_SEQUENCE, _P256)
)
_ALGORITHM = rb"\x30\x13%b%b" % (_EC_PUBLIC_KEY, _P256)
_FORMS = {
    "PRIVATE KEY": rb"%b\x02\x01[\x00\x01]%b\x04.%b(?:(?!\xa0\x0a)[\xa0\x81].*)?"
    % (_SEQUENCE, _ALGORITHM, _KEY),
    "EC PRIVATE KEY": _KEY,
}

_PEM = re.compile(r"-----BEGIN ([A-Z ]+)-----(.*?)-----END \1-----", re.DOTALL)


def read_private_pem(text: str | bytes) -> int:
    """Return the private number in ``text``. Raises UsageError, which shows nothing of the key."""
    if isinstance(text, bytes):
        text = text.decode("ascii", "replace")
    blocks = {match[1]: match[2] for match in _PEM.finditer(text)}
    if "ENCRYPTED PRIVATE KEY" in blocks or "Proc-Type:" in text:
        raise UsageError("the private key is encrypted; decrypt it first or give a Signer")
    label = next((label for label in _FORMS if label in blocks), None)
    if label is None:
        raise UsageError("the PEM file has no private key (PKCS#8 or SEC1)")
    try:
        # By default Python skips characters that are not base64; here they mean damage.
        der = base64.b64decode("".join(blocks[label].split()), validate=True)
    except ValueError:  # it could quote the key
        der = b""
    found = re.fullmatch(_FORMS[label], der, re.DOTALL)
    private = int.from_bytes(found[1], "big") if found else 0
    if found is None or not 0 < private < ORDER or found[2] not in (None, *_public_forms(private)):
        raise UsageError("the private key is not an unencrypted EC P-256 key")
    return private


def _public_forms(private: int) -> tuple[bytes, bytes]:
    """Return the public key in both encodings: uncompressed and compressed (SEC 1, 2.3.3)."""
    x, y = (number.to_bytes(32, "big") for number in generator_multiple(private))
    return b"\x00\x04" + x + y, b"\x00" + bytes([2 + y[-1] % 2]) + x


class Signer(Protocol):
    """A private key in memory, in hardware, or in a library.

    ``algorithm``: its JWS name, for example "RS256" or "EdDSA". ``key_id``: put into the header as
    ``kid`` unless None.
    """

    @property
    def algorithm(self) -> str:
        """The JWS name of the signature algorithm (RFC 7518 section 3.1)."""
        ...

    @property
    def key_id(self) -> str | None:
        """The name under which the authorization server knows the key, or None."""

    def sign(self, message: bytes) -> bytes:
        """Return the signature of ``message`` in the form of JWS (for ECDSA: r and s, not DER)."""
        ...


def _forbid_under_fips() -> None:
    wanted = environ.get("MCPCLIENT_FIPS")
    if wanted is None:
        with suppress(OSError), open(_FIPS_FLAG, encoding="ascii") as file:
            wanted = file.read(1)
    if wanted not in (None, "", "0"):
        raise UsageError(
            "FIPS mode forbids signatures in pure Python: give a Signer with a validated module"
        )


class Es256Key:
    """An ECDSA P-256 key that signs with SHA-256 (JWS "ES256"); a `Signer`.

    Signatures are deterministic (RFC 6979). Not constant-time; see above. In FIPS mode, which
    the environment variable ``MCPCLIENT_FIPS=1`` turns on, or Linux unless the variable is 0,
    making one raises `UsageError`: use a `Signer` of your own there.
    """

    algorithm = "ES256"

    def __init__(self, private: int, *, key_id: str | None = None) -> None:
        if not 0 < private < ORDER:
            raise UsageError("the private key is out of range")
        _forbid_under_fips()
        self._private = private
        self._public = generator_multiple(private)
        self.key_id = key_id

    @classmethod
    def from_pem(cls, text: str | bytes, *, key_id: str | None = None) -> Es256Key:
        """Read an unencrypted PKCS#8 or SEC1 key in PEM form. Raises UsageError."""
        return cls(read_private_pem(text), key_id=key_id)

    @classmethod
    def from_random(cls, seed: bytes) -> Es256Key:
        """Derive a key from ``seed``, at least 40 random bytes (FIPS 186-5 A.2.1)."""
        if len(seed) < 40:
            raise UsageError("a key is made from at least 40 random bytes")
        return cls(int.from_bytes(seed, "big") % (ORDER - 1) + 1)

    @classmethod
    def from_secret(cls, text: str) -> Es256Key:
        """Read a key that `to_secret` wrote. Raises UsageError."""
        try:
            private = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except ValueError:
            raise UsageError("the stored key is damaged") from None
        return cls(int.from_bytes(private, "big"))

    def to_secret(self) -> str:
        """Return the private key as in a JWK (``d``), for a safe store."""
        return base64url(self._private.to_bytes(32, "big"))

    def public_jwk(self) -> dict[str, str]:
        """Return the public key as a JSON Web Key (RFC 7517)."""
        x, y = (base64url(number.to_bytes(32, "big")) for number in self._public)
        return {"kty": "EC", "crv": "P-256", "x": x, "y": y}

    def sign(self, message: bytes) -> bytes:
        """Return the 64 bytes r, s over the SHA-256 of ``message`` (RFC 7518 section 3.4)."""
        r, s = sign_digest(self._private, hashlib.sha256(message).digest())
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")

    def __repr__(self) -> str:
        return f"Es256Key(key_id={self.key_id!r})"


def sign_jwt(header: Mapping[str, object], claims: Mapping[str, object], signer: Signer) -> str:
    """Sign a JWT in compact serialization (RFC 7515 section 7.1); adds ``alg`` and ``kid``."""
    full_header: dict[str, object] = {"alg": signer.algorithm, **header}
    if signer.key_id is not None:
        full_header["kid"] = signer.key_id
    parts = (json.dumps(part, separators=(",", ":")).encode() for part in (full_header, claims))
    signed = ".".join(map(base64url, parts))
    return f"{signed}.{base64url(signer.sign(signed.encode('ascii')))}"


def base64url(data: bytes) -> str:
    """Encode bytes in base64 for URLs, without padding (RFC 7515 section 2)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


# RFC 9449 section 8.1 sets no limit; no known server sends as much.
_MAX_NONCE_LENGTH = 1024


@dataclass
class DpopProver:
    """Makes proofs with one key, and remembers the nonce each server last asked for.

    Nonces are kept by origin and by role, since the authorization server's are not the resource
    server's even where both live on one host (RFC 9449 sections 8 and 9).
    """

    key: Es256Key = field(repr=False)
    _nonces: dict[tuple[str, bool], str] = field(default_factory=dict, repr=False)

    def proof(self, method: str, url: str, access_token: str | None = None) -> Flow[str]:
        """Return the value of the DPoP header; ``access_token``: None for a request for a token."""
        claims: dict[str, object] = {
            "jti": base64url((yield from RandomBytes(16))),
            "htm": method,
            "htu": url.partition("#")[0].partition("?")[0],
            "iat": int((yield from Now())),
        }
        if access_token is not None:
            claims["ath"] = access_token_hash(access_token)
        nonce = self._nonces.get((origin_of(url), access_token is not None))
        if nonce is not None:
            claims["nonce"] = nonce
        return sign_jwt({"typ": "dpop+jwt", "jwk": self.key.public_jwk()}, claims, self.key)

    def note(self, response: Response, url: str, *, for_resource: bool) -> bool:
        """Store the nonce in ``response``, if any. Returns True for a new one."""
        nonce = response.header("dpop-nonce")
        if nonce is None or len(nonce) > _MAX_NONCE_LENGTH or not nonce.isascii():
            return False
        slot = (origin_of(url), for_resource)
        is_new = self._nonces.get(slot) != nonce
        self._nonces[slot] = nonce
        return is_new


def access_token_hash(access_token: str) -> str:
    """Return the ``ath`` claim: the token's SHA-256 in base64url (RFC 9449 section 4.2)."""
    return base64url(hashlib.sha256(access_token.encode("ascii")).digest())


def wants_nonce(status: int, error: object) -> bool:
    """Whether a response asks to repeat the request with its nonce."""
    return status in (400, 401) and error == "use_dpop_nonce"


# Domain parameters (SEC 2, secp256r1) of y^2 = x^3 - 3x + b; multiplying needs no b.
_P = 0xFFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF
_GX = 0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296
_GY = 0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551

_Affine = tuple[int, int]


def generator_multiple(scalar: int) -> _Affine:
    """Return the point ``scalar`` times the generator, for 0 < scalar < ORDER.

    It is the sum of precomputed points. No sum of the lower ones is the next one or its opposite,
    so the addition needs no special cases: madd-2007-bl, in Jacobian coordinates, without its
    trick for z.
    """
    chosen = (power for bit, power in enumerate(_powers()) if scalar >> bit & 1)
    x1, y1 = next(chosen)
    z1 = 1
    for x2, y2 in chosen:
        z1_squared = z1 * z1 % _P
        h = (x2 * z1_squared - x1) % _P
        r = (y2 * z1_squared * z1 - y1) % _P
        h_squared = h * h % _P
        h_cubed = h * h_squared % _P
        v = x1 * h_squared % _P
        x1 = (r * r - h_cubed - 2 * v) % _P
        y1 = (r * (v - x1) - y1 * h_cubed) % _P
        z1 = h * z1 % _P
    inverse = pow(z1, -1, _P)
    squared = inverse * inverse % _P
    return x1 * squared % _P, y1 * squared * inverse % _P


@lru_cache(maxsize=1)
def _powers() -> list[_Affine]:
    """Entry i is 2^i times the generator. No point of this curve has y = 0, its order being odd."""
    powers = [(_GX, _GY)]
    for _ in range(255):
        x, y = powers[-1]
        slope = 3 * (x * x - 1) * pow(2 * y, -1, _P) % _P
        x2 = (slope * slope - 2 * x) % _P
        powers.append((x2, (slope * (x - x2) - y) % _P))
    return powers


def sign_digest(private: int, digest: bytes) -> tuple[int, int]:
    """Return the signature (r, s) of a SHA-256 ``digest`` with the key ``private``."""
    number = int.from_bytes(digest, "big")
    candidates = _nonces(private, digest)
    while True:
        nonce = next(candidates)
        r = generator_multiple(nonce)[0] % ORDER
        s = pow(nonce, -1, ORDER) * (number + r * private) % ORDER
        # Zero has never been observed, but the standard requires another nonce then.
        if r and s:
            return r, s


def _nonces(private: int, digest: bytes) -> Iterator[int]:
    """The candidates for the nonce, in the order of RFC 6979 section 3.2."""
    reduced = int.from_bytes(digest, "big") % ORDER
    seed = private.to_bytes(32, "big") + reduced.to_bytes(32, "big")
    key, value = b"\x00" * 32, b"\x01" * 32
    for separator in (b"\x00", b"\x01"):
        key = _hmac(key, value + separator + seed)
        value = _hmac(key, value)
    while True:
        value = _hmac(key, value)
        candidate = int.from_bytes(value, "big")
        if 0 < candidate < ORDER:
            yield candidate
        key = _hmac(key, value + b"\x00")
        value = _hmac(key, value)


def _hmac(key: bytes, message: bytes) -> bytes:
    return hmac.new(key, message, hashlib.sha256).digest()
