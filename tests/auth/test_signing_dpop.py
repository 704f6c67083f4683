from __future__ import annotations

from mcpclient.auth.effects import Response
from mcpclient.auth.signing import DpopProver, Es256Key, wants_nonce

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


def test_which_answers_want_a_nonce() -> None:
    """F-AUTH-7: 400 from the authorization server, 401 from the resource."""
    assert wants_nonce(400, "use_dpop_nonce")
    assert wants_nonce(401, "use_dpop_nonce")
    assert not wants_nonce(401, "invalid_token")
    assert not wants_nonce(200, "use_dpop_nonce")
