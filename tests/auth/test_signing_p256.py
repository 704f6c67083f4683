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


@pytest.mark.parametrize(
    ("message", "r", "s"),
    [
        (
            b"sample",
            0xEFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716,
            0xF7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8,
        ),
        (
            b"test",
            0xF1ABB023518351CD71D881567B1EA663ED3EFCF6C5132B354F28D3B0B7D38367,
            0x019F4113742A2B14BD25926B49C649155F267E60D3814B4C0CC84250E46F0083,
        ),
    ],
)
def test_the_published_signatures(message: bytes, r: int, s: int) -> None:
    """F-AUTH-6: RFC 6979 A.2.5, P-256 with SHA-256: nonce and signature."""
    digest = hashlib.sha256(message).digest()
    assert sign_digest(PRIVATE, digest) == (r, s)
    assert verify(PUBLIC, digest, r, s)


def test_the_published_public_key() -> None:
    """F-AUTH-6: RFC 6979 A.2.5."""
    assert generator_multiple(PRIVATE) == PUBLIC
    assert is_on_curve(*PUBLIC)
    assert not is_on_curve(PUBLIC[0], PUBLIC[1] + 1)


@pytest.mark.parametrize(
    "scalar", [1, 2, 3, 2**64, 2**64 + 1, 2**128, 2**192, ORDER - 1, ORDER - 2]
)
def test_the_edges_of_the_multiplication(scalar: int) -> None:
    """F-AUTH-6: single powers of two, sums of them, and the negative of the generator."""
    assert generator_multiple(scalar) == double_and_add(scalar, generator_multiple(1))


@examples(15)
@given(st.integers(1, ORDER - 1), st.binary(min_size=32, max_size=32))
def test_signatures_verify(private: int, digest: bytes) -> None:
    """F-AUTH-6: an independent verification accepts what is signed, and nothing else."""
    public = generator_multiple(private)
    r, s = sign_digest(private, digest)
    assert verify(public, digest, r, s)
    assert not verify(public, hashlib.sha256(digest).digest(), r, s)


def test_the_point_at_infinity_has_no_coordinates() -> None:
    """F-AUTH-6: a multiple that is this point is refused."""
    with pytest.raises(ValueError, match="invertible"):
        generator_multiple(ORDER)


def test_candidates_out_of_range_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-6: RFC 6979 section 3.2 step h, and r = 0, which no test finds by chance."""
    answers = iter([ORDER.to_bytes(32, "big"), bytes(32), (5).to_bytes(32, "big")])
    real = signing._hmac
    calls = iter(range(100))

    def fake(key: bytes, message: bytes) -> bytes:
        # The fifth and every third call after it yield a candidate.
        position = next(calls)
        return next(answers) if position >= 4 and (position - 4) % 3 == 0 else real(key, message)

    monkeypatch.setattr(signing, "_hmac", fake)
    assert next(signing._nonces(PRIVATE, bytes(32))) == 5


def test_a_zero_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-6: r or s of zero leads to the next nonce."""
    real = signing.generator_multiple
    points = iter([(ORDER, 0)])
    monkeypatch.setattr(signing, "generator_multiple", lambda k: next(points, None) or real(k))
    digest = hashlib.sha256(b"sample").digest()
    assert verify(PUBLIC, digest, *sign_digest(PRIVATE, digest))
