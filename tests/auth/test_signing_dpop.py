from __future__ import annotations

from mcpclient.auth.effects import Response
from mcpclient.auth.signing import DpopProver, Es256Key, access_token_hash, wants_nonce

from .test_signing import JWK, JWK_SECRET, verifies
from .world import World, decode_jwt

# RFC 9449 section 7.1 and figure 1 (section 4.1).
TOKEN = "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU"
TOKEN_HASH = "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo"
PROOF = (
    "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6Ik"
    "VDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQyVVFVZldWQVdCR"
    "nMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JE"
    "QSIsImNydiI6IlAtMjU2In19.eyJqdGkiOiItQndDM0VTYzZhY2MybFRjIiwiaHRtIj"
    "oiUE9TVCIsImh0dSI6Imh0dHBzOi8vc2VydmVyLmV4YW1wbGUuY29tL3Rva2VuIiwia"
    "WF0IjoxNTYyMjYyNjE2fQ.2-GxA6T8lP4vfrg8v-FdWP0A0zdrj8igiMLvqRMUvwnQg"
    "4PtFLbdLXiOSsX0x7NVY-FNyJK70nfbV37xRZT3Lg"
)

URL = "https://server.example.com/token"


def prover() -> DpopProver:
    return DpopProver(Es256Key.from_secret(JWK_SECRET))


def test_proofs_have_the_structure_of_the_published_one() -> None:
    """F-AUTH-7: RFC 9449 section 4.1: the same fields, and both verify with their own key."""
    expected_header, expected_claims = decode_jwt(PROOF)
    assert verifies(PROOF, expected_header["jwk"])  # type: ignore[arg-type]
    proof = World().run(prover().proof("POST", URL + "?query=1#fragment"))
    header, claims = decode_jwt(proof)
    assert verifies(proof, JWK)
    assert header == {**expected_header, "jwk": JWK}
    assert claims.keys() == expected_claims.keys()
    assert claims["htm"] == expected_claims["htm"]
    assert claims["htu"] == expected_claims["htu"]
    assert claims["iat"] == 1_000_000
    proof = World().run(prover().proof("POST", URL + "#fragment"))
    assert decode_jwt(proof)[1]["htu"] == expected_claims["htu"]


def test_the_published_token_hash() -> None:
    """F-AUTH-7: RFC 9449 section 7.1."""
    assert access_token_hash(TOKEN) == TOKEN_HASH
    proof = World().run(prover().proof("GET", URL, TOKEN))
    assert decode_jwt(proof)[1]["ath"] == TOKEN_HASH


def test_no_two_proofs_are_alike() -> None:
    """F-AUTH-7: each has a jti of its own."""
    world, one = World(), prover()
    identifiers = {decode_jwt(world.run(one.proof("POST", URL)))[1]["jti"] for _ in range(5)}
    assert len(identifiers) == 5


def nonce(value: str) -> Response:
    return Response(401, [("dpop-NONCE", value)], b"")


def test_nonces_are_kept_apart() -> None:
    """F-AUTH-7: by origin, and by role even on one host."""
    world, one = World(), prover()
    assert one.note(nonce("a"), URL, for_resource=False)
    assert not one.note(nonce("a"), URL + "/other", for_resource=False)
    assert one.note(nonce("b"), URL, for_resource=True)
    assert not one.note(Response(200, [], b""), URL, for_resource=True)
    assert decode_jwt(world.run(one.proof("POST", URL)))[1]["nonce"] == "a"
    assert decode_jwt(world.run(one.proof("POST", URL, TOKEN)))[1]["nonce"] == "b"
    elsewhere = world.run(one.proof("POST", "https://other.example/", TOKEN))
    assert "nonce" not in decode_jwt(elsewhere)[1]


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


def test_a_prover_shows_nothing() -> None:
    """F-AUTH-12: neither the key nor a nonce."""
    one = prover()
    one.note(nonce("nonce-value"), URL, for_resource=True)
    assert repr(one) == "DpopProver()"
