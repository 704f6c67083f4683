from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.auth import signing
from mcpclient.auth.signing import ORDER, generator_multiple, sign_digest
from tests.support.properties import examples

# RFC 6979 appendix A.2.5.
PRIVATE = 0xC9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721
PUBLIC = (
    0x60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6,
    0x7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299,
)


def double_and_add(scalar: int, point: tuple[int, int]) -> tuple[int, int] | None:
    """Multiplication as textbooks have it, to judge the fast one by."""
    prime = 2**256 - 2**224 + 2**192 + 2**96 - 1
    result: tuple[int, int] | None = None
    addend: tuple[int, int] | None = point
    while scalar:
        if scalar & 1:
            result = add_affine(result, addend, prime)
        addend = add_affine(addend, addend, prime)
        scalar >>= 1
    return result


def add_affine(
    first: tuple[int, int] | None, second: tuple[int, int] | None, prime: int
) -> tuple[int, int] | None:
    if first is None or second is None:
        return first or second
    (x1, y1), (x2, y2) = first, second
    if x1 == x2 and (y1 + y2) % prime == 0:
        return None
    if first == second:
        slope = (3 * x1 * x1 - 3) * pow(2 * y1, -1, prime) % prime
    else:
        slope = (y2 - y1) * pow(x2 - x1, -1, prime) % prime
    x3 = (slope * slope - x1 - x2) % prime
    return x3, (slope * (x1 - x3) - y1) % prime


def is_on_curve(x: int, y: int) -> bool:
    """Whether y² = x³ - 3x + b (SEC 2, secp256r1)."""
    prime = 2**256 - 2**224 + 2**192 + 2**96 - 1
    b = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
    return 0 <= x < prime and 0 <= y < prime and (y * y - x * x * x + 3 * x - b) % prime == 0


def verify(public: tuple[int, int], digest: bytes, r: int, s: int) -> bool:
    if not (0 < r < ORDER and 0 < s < ORDER and is_on_curve(*public)):
        return False
    prime = 2**256 - 2**224 + 2**192 + 2**96 - 1
    inverse = pow(s, -1, ORDER)
    number = int.from_bytes(digest, "big")
    point = add_affine(
        double_and_add(number * inverse % ORDER, generator_multiple(1)),
        double_and_add(r * inverse % ORDER, public),
        prime,
    )
    return point is not None and point[0] % ORDER == r


@examples(15)
@given(st.integers(1, ORDER - 1), st.binary(min_size=32, max_size=32))
def test_signatures_verify(private: int, digest: bytes) -> None:
    """F-AUTH-6: an independent verification accepts the signed message only."""
    public = generator_multiple(private)
    r, s = sign_digest(private, digest)
    assert verify(public, digest, r, s)
    assert not verify(public, hashlib.sha256(digest).digest(), r, s)


def test_a_zero_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-6: r or s of zero leads to the next nonce."""
    real = signing.generator_multiple
    points = iter([(ORDER, 0)])
    monkeypatch.setattr(signing, "generator_multiple", lambda k: next(points, None) or real(k))
    digest = hashlib.sha256(b"sample").digest()
    assert verify(PUBLIC, digest, *sign_digest(PRIVATE, digest))
