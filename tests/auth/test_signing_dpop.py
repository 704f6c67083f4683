from __future__ import annotations

from mcpclient.auth.effects import Response
from mcpclient.auth.signing import DpopProver, Es256Key

from .test_signing import JWK_SECRET

URL = "https://server.example.com/token"


def prover() -> DpopProver:
    return DpopProver(Es256Key.from_secret(JWK_SECRET))


def nonce(value: str) -> Response:
    return Response(401, [("dpop-NONCE", value)], b"")


def test_a_nonce_of_a_megabyte_is_ignored() -> None:
    """F-AUTH-7: it would be sent back with every request."""
    assert not prover().note(nonce("x" * 2000), URL, for_resource=True)
    assert not prover().note(nonce("é"), URL, for_resource=True)
