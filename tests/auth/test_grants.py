from __future__ import annotations

from dataclasses import replace

import pytest

from mcpclient.auth.clients import RegisteredClient
from mcpclient.auth.effects import Fetch, Response
from mcpclient.auth.grants import Grant, GrantRequest, GrantTerms, refresh, revoke
from mcpclient.auth.signing import DpopProver, Es256Key
from mcpclient.auth.url_guard import UrlPolicy
from mcpclient.errors import AuthError, TokenRequestFailed
from tests.support.tables import each_row

from .world import TOKEN, World, decode_jwt, form_of, grant_request, json_response

CLIENT = RegisteredClient("id", "https://auth.example")
KEY = Es256Key.from_random(b"k" * 48)


def request(prover: DpopProver | None = None, resource: str | None = "r") -> GrantRequest:
    return grant_request(scopes=("a", "b"), resource=resource, prover=prover)


def prover() -> DpopProver:
    return DpopProver(Es256Key.from_random(b"p" * 48))


def answering(**fields: object) -> World:
    """A world whose token endpoint gives a token, and these fields."""
    world = World()
    world.on("POST", TOKEN, json_response({"access_token": "t", **fields}))
    return world


def obtain(world: World, asked: GrantRequest | None = None) -> Grant:
    return world.run((asked or request()).obtain(CLIENT, [("grant_type", "x")]))


def test_there_is_no_refresh_without_a_refresh_token() -> None:
    """F-AUTH-5."""
    world = answering()
    with pytest.raises(AuthError, match="no refresh token"):
        world.run(refresh(obtain(world), UrlPolicy()))


def test_errors_do_not_repeat_what_was_sent() -> None:
    """F-AUTH-12: a server may echo secrets, and an error must not."""
    world = World()
    sent = [("grant_type", "x"), ("code", "c0de"), ("code_verifier", "v3rifier")]
    words = "no s3cret c0de v3rifier"
    world.on("POST", TOKEN, json_response({"error": "e", "error_description": words}, 400))
    for method in ("client_secret_post", "client_secret_basic"):
        client = RegisteredClient("id", "https://auth.example", method, "s3cret")
        with pytest.raises(TokenRequestFailed) as caught:
            world.run(request().obtain(client, sent))
        assert caught.value.description == "no … … …"


def test_the_same_form_goes_again_with_the_nonce() -> None:
    """F-AUTH-7: RFC 9449 section 8: once, and with a fresh proof."""
    world = World()
    nonces: list[object] = []

    def answer(sent: Fetch) -> Response:
        nonces.append(decode_jwt(sent.headers["DPoP"])[1].get("nonce"))
        nonce = (("DPoP-Nonce", f"n{len(nonces)}"),)
        return json_response({"error": "use_dpop_nonce"}, 400, nonce)

    world.on("POST", TOKEN, answer)
    terms = GrantTerms(CLIENT, TOKEN, None, (), None, prover(), None)
    with pytest.raises(TokenRequestFailed, match="use_dpop_nonce"):
        world.run(terms.request([("grant_type", "x")], UrlPolicy()))
    assert nonces == [None, "n1"]


def test_tokens_are_bound_or_not_as_asked() -> None:
    """F-AUTH-7: neither an unbound token for a bound one nor the other way round."""
    world = answering(token_type="Bearer")
    with pytest.raises(AuthError, match="did not bind"):
        obtain(world, request(prover()))
    world.on("POST", TOKEN, json_response({"access_token": "t", "token_type": "DPoP"}))
    with pytest.raises(AuthError, match="unknown key"):
        obtain(world)


@each_row(
    "field",
    [
        *("assertion", "client_assertion", "client_secret", "code", "code_verifier"),
        *("device_code", "refresh_token", "subject_token", "token", "Authorization", "DPoP"),
    ],
)
def test_no_error_repeats_what_proves_who_asks(field: str) -> None:
    """F-AUTH-12: whichever way a client has, and whatever it asks with."""
    said: list[str] = []

    def echo(asked: Fetch) -> Response:
        value = {**form_of(asked), **asked.headers}[field].rpartition(" ")[2]
        said.append(value)
        return json_response({"error": f"no {value}", "error_description": f"not {value}."}, 400)

    world = World()
    world.on("POST", TOKEN, echo)
    way = {"client_assertion": "private_key_jwt", "Authorization": "client_secret_basic"}
    method = way.get(field, "client_secret_post")
    client = RegisteredClient("id", "https://auth.example", method, "the-s3cret", KEY)
    form = [("grant_type", "x")]
    if field not in ("client_assertion", "client_secret", "Authorization", "DPoP"):
        form.append((field, "s3cret-value"))
    with pytest.raises(TokenRequestFailed) as caught:
        world.run(request(prover()).obtain(client, form))
    assert len(said[0]) > 8
    assert said[0] not in str(caught.value)
    assert caught.value.description == "not …."


def test_no_error_of_a_revocation_repeats_the_token() -> None:
    """F-AUTH-12"""
    world = answering(access_token="acc3ss", refresh_token="r3fresh")
    revocation = "https://auth.example/revoke"
    grant = replace(obtain(world), revocation_endpoint=revocation)
    answer = {"error": "e", "error_description": "no r3fresh"}
    world.on("POST", revocation, json_response(answer, 400))
    with pytest.raises(TokenRequestFailed) as caught:
        world.run(revoke(grant, UrlPolicy()))
    assert caught.value.description == "no …"


@each_row(
    "damage",
    [
        {"client": None},
        {"tokens": []},
        {"token_endpoint": 7},
        {"requested_scopes": 7},
        {"dpop_key": "!"},
        {"tokens": {"access_token": "t", "token_type": "DPoP"}},
    ],
)
def test_a_damaged_record_is_no_grant(damage: dict[str, object]) -> None:
    """F-AUTH-9: also a bound token without its key."""
    world = answering()
    record = obtain(world).to_record()
    assert Grant.from_record(record) is not None
    assert Grant.from_record({**record, **damage}) is None
