from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest

from mcpclient.auth.signing import Es256Key, base64url, sign_jwt
from mcpclient.errors import UsageError

from .test_signing_p256 import PRIVATE, PUBLIC, verify
from .world import decode_jwt

JWK_SECRET = "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"


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


def test_a_jwt_is_signed() -> None:
    """F-AUTH-6: compact serialization, unpadded, raw r and s."""
    key = Es256Key(PRIVATE, key_id="k1")
    token = sign_jwt({"typ": "JWT"}, {"iss": "ü"}, key)
    assert decode_jwt(token) == ({"alg": "ES256", "typ": "JWT", "kid": "k1"}, {"iss": "ü"})
    assert verifies(token, key.public_jwk())
    assert "=" not in token
    assert decode_jwt(sign_jwt({}, {}, Es256Key(PRIVATE)))[0] == {"alg": "ES256"}


def test_keys_are_made_from_random_bytes() -> None:
    """F-AUTH-7: enough of them, and never out of range."""
    assert Es256Key.from_random(b"\x00" * 40).to_secret() == base64url((1).to_bytes(32, "big"))
    assert Es256Key.from_random(b"\xff" * 48).public_jwk()["kty"] == "EC"
    with pytest.raises(UsageError, match="40"):
        Es256Key.from_random(b"short")


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
