from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

import pytest

from mcpclient.auth.signing import ORDER, Es256Key, base64url, sign_jwt
from mcpclient.errors import UsageError
from tests.support.requirements import required

from .test_signing_p256 import PRIVATE, PUBLIC, verify
from .world import decode_jwt

# RFC 7515 appendix A.3.
JWK = {
    "kty": "EC",
    "crv": "P-256",
    "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
}
JWK_SECRET = "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"
JWS = (
    "eyJhbGciOiJFUzI1NiJ9"
    ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt"
    "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    ".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSA"
    "pmWQxfKTUJqPP3-Kg6NU1Q"
)


def decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def point(jwk: dict[str, str]) -> tuple[int, int]:
    return (int.from_bytes(decode(jwk["x"]), "big"), int.from_bytes(decode(jwk["y"]), "big"))


def verifies(token: str, jwk: dict[str, str]) -> bool:
    signed, _, signature = token.rpartition(".")
    raw = decode(signature)
    r, s = int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big")
    digest = hashlib.sha256(signed.encode()).digest()
    return len(raw) == 64 and verify(point(jwk), digest, r, s)


def test_the_published_key_and_signature() -> None:
    """F-AUTH-6: RFC 7515 A.3: the public half of its key, and a judge who accepts its example."""
    key = Es256Key.from_secret(JWK_SECRET)
    assert key.public_jwk() == JWK
    assert key.to_secret() == JWK_SECRET
    assert verifies(JWS, JWK)
    assert not verifies(JWS.replace("eyJpc3", "eyJpc2"), JWK)


def test_a_jwt_is_signed() -> None:
    """F-AUTH-6: compact serialization, unpadded, raw r and s."""
    key = Es256Key(PRIVATE, key_id="k1")
    token = sign_jwt({"typ": "JWT"}, {"iss": "ü"}, key)
    assert decode_jwt(token) == ({"alg": "ES256", "typ": "JWT", "kid": "k1"}, {"iss": "ü"})
    assert verifies(token, key.public_jwk())
    assert "=" not in token
    assert decode_jwt(sign_jwt({}, {}, Es256Key(PRIVATE)))[0] == {"alg": "ES256"}


def test_a_signer_of_the_callers_own() -> None:
    """F-AUTH-6: other algorithms and keys in hardware come through the Signer protocol."""

    class Hardware:
        algorithm = "EdDSA"
        key_id = None

        def sign(self, message: bytes) -> bytes:
            return b"signed:" + message[:4]

    token = sign_jwt({}, {"a": 1}, Hardware())
    header, claims, signature = (decode(part) for part in token.split("."))
    assert json.loads(header) == {"alg": "EdDSA"}
    assert json.loads(claims) == {"a": 1}
    assert signature == b"signed:eyJh"


def test_keys_are_made_from_random_bytes() -> None:
    """F-AUTH-7: enough of them, and never out of range."""
    assert Es256Key.from_random(b"\x00" * 40).to_secret() == base64url((1).to_bytes(32, "big"))
    assert Es256Key.from_random(b"\xff" * 48).public_jwk()["kty"] == "EC"
    with pytest.raises(UsageError, match="40"):
        Es256Key.from_random(b"short")


@pytest.mark.parametrize("private", [0, ORDER, -1])
def test_a_key_out_of_range_is_refused(private: int) -> None:
    """F-AUTH-6: such a key signs nothing."""
    with pytest.raises(UsageError, match="out of range"):
        Es256Key(private)


@pytest.mark.parametrize("text", ["", "!", "A", "é"])
def test_a_damaged_secret_is_refused(text: str) -> None:
    """F-AUTH-9: a corrupt store."""
    with pytest.raises(UsageError):
        Es256Key.from_secret(text)


def test_a_pem_is_read() -> None:
    """F-AUTH-6: from_pem takes what key_files reads."""
    der = bytes.fromhex("30770201010420") + PRIVATE.to_bytes(32, "big")
    der += bytes.fromhex("a00a06082a8648ce3d030107a144034200")
    der += b"\x04" + b"".join(number.to_bytes(32, "big") for number in PUBLIC)
    body = base64.b64encode(der).decode()
    pem = f"-----BEGIN EC PRIVATE KEY-----\n{body}\n-----END EC PRIVATE KEY-----\n"
    assert point(Es256Key.from_pem(pem).public_jwk()) == PUBLIC


def test_no_key_shows_itself() -> None:
    """F-AUTH-12: neither number nor text of the key is in its repr."""
    shown = repr(Es256Key.from_secret(JWK_SECRET))
    assert JWK_SECRET not in shown
    assert repr(Es256Key(PRIVATE, key_id="k")) == "Es256Key(key_id='k')"


def test_another_library_accepts_the_signatures() -> None:
    """F-AUTH-6: where the `cryptography` package is at hand, it is the judge."""
    hashes = required("cryptography.hazmat.primitives.hashes")
    ec = required("cryptography.hazmat.primitives.asymmetric.ec")
    utils = required("cryptography.hazmat.primitives.asymmetric.utils")
    key = Es256Key(PRIVATE)
    public = ec.EllipticCurvePublicNumbers(*PUBLIC, ec.SECP256R1()).public_key()
    for number in range(20):
        message = b"message %d" % number
        signature = key.sign(message)
        pair = (int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big"))
        public.verify(utils.encode_dss_signature(*pair), message, ec.ECDSA(hashes.SHA256()))


@pytest.mark.parametrize(
    ("variable", "flag", "forbidden"),
    [("1", "0", True), (None, "1", True), (None, "0", False), ("0", "1", False), (None, "", False)],
)
def test_fips_forbids_signatures_in_pure_python(
    variable: str | None,
    flag: str,
    forbidden: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F-VEND-4: by the environment variable or the system's flag; the error names what to give."""
    monkeypatch.delenv("MCPCLIENT_FIPS", raising=False)
    if variable is not None:
        monkeypatch.setenv("MCPCLIENT_FIPS", variable)
    monkeypatch.setattr("mcpclient.auth.signing._FIPS_FLAG", str(tmp_path / "flag"))
    if flag:
        (tmp_path / "flag").write_text(f"{flag}\n")
    if forbidden:
        with pytest.raises(UsageError, match="give a Signer with a validated module"):
            Es256Key(PRIVATE)
    else:
        assert Es256Key(PRIVATE).algorithm == "ES256"
