"""ECDSA on the curve P-256 with SHA-256 and deterministic nonces (FIPS 186-5, RFC 6979).

For the few signatures of a client. Not constant-time: the time of Python's integer arithmetic
depends on the values, so an attacker who measures many signatures may learn about the key. Where
that matters, use a `mcpclient.Signer` that keeps the key in hardware or in a cryptographic library.

The generator is multiplied by a comb of four teeth: 15 precomputed points, 64 doublings and at most
64 additions in Jacobian coordinates.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from functools import lru_cache
from typing import Optional

# Domain parameters (SEC 2, secp256r1) of y^2 = x^3 - 3x + b; multiplying needs no b.
_P = 0xFFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF
_GX = 0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296
_GY = 0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551

_TEETH = 4
_SPACING = 64

_Affine = tuple[int, int]
_Jacobian = Optional[tuple[int, int, int]]  # None is the point at infinity


def generator_multiple(scalar: int) -> _Affine:
    """Return the point ``scalar`` times the generator, for 0 < scalar < ORDER."""
    return _to_affine(_multiply_generator(scalar))


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


def _multiply_generator(scalar: int) -> _Jacobian:
    comb = _comb()
    result: _Jacobian = None
    for column in range(_SPACING - 1, -1, -1):
        result = _double(result)
        index = 0
        for tooth in range(_TEETH):
            index |= (scalar >> (tooth * _SPACING + column) & 1) << tooth
        if index:
            result = _add(result, comb[index])
    return result


@lru_cache(maxsize=1)
def _comb() -> list[_Affine]:
    """Entry i is the sum of 2^(64 t) G over the bits t that are set in i; entry 0 is not used."""
    comb: list[_Affine] = [(0, 0)]
    tooth: _Affine = (_GX, _GY)
    for _ in range(_TEETH):
        comb += [
            tooth if index == 0 else _to_affine(_add((*comb[index], 1), tooth))
            for index in range(len(comb))
        ]
        multiple: _Jacobian = (tooth[0], tooth[1], 1)
        for _ in range(_SPACING):
            multiple = _double(multiple)
        tooth = _to_affine(multiple)
    return comb


def _double(point: _Jacobian) -> _Jacobian:
    # The formulas dbl-2001-b for a = -3. No point of this curve has y = 0, its order being odd.
    if point is None:
        return None
    x, y, z = point
    delta = z * z % _P
    gamma = y * y % _P
    beta = x * gamma % _P
    alpha = 3 * (x - delta) * (x + delta) % _P
    x3 = (alpha * alpha - 8 * beta) % _P
    z3 = 2 * y * z % _P
    y3 = (alpha * (4 * beta - x3) - 8 * gamma * gamma) % _P
    return x3, y3, z3


def _add(point: _Jacobian, other: _Affine) -> _Jacobian:
    # The mixed addition madd-2007-bl without its trick for z.
    x2, y2 = other
    if point is None:
        return x2, y2, 1
    x1, y1, z1 = point
    z1_squared = z1 * z1 % _P
    h = (x2 * z1_squared - x1) % _P
    r = (y2 * z1_squared * z1 - y1) % _P
    if h == 0:
        return _double(point) if r == 0 else None
    h_squared = h * h % _P
    h_cubed = h * h_squared % _P
    v = x1 * h_squared % _P
    x3 = (r * r - h_cubed - 2 * v) % _P
    y3 = (r * (v - x3) - y1 * h_cubed) % _P
    return x3, y3, h * z1 % _P


def _to_affine(point: _Jacobian) -> _Affine:
    if point is None:
        raise ValueError("the point at infinity has no coordinates")
    x, y, z = point
    inverse = pow(z, -1, _P)
    squared = inverse * inverse % _P
    return x * squared % _P, y * squared * inverse % _P
