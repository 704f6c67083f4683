from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mcpclient.auth.effects import Authorize, Callback, Load, Response
from mcpclient.auth.flow import Authorization
from mcpclient.auth.options import ClientCredentials, OAuth, OAuthOptions, WorkloadIdentity
from mcpclient.auth.signing import Es256Key
from mcpclient.errors import (
    AuthError,
    ConnectionLost,
    InsufficientScope,
    RegistrationRequired,
    TokenRequestFailed,
)

from .world import (
    TOKEN,
    AuthorizationServerFake,
    Scene,
    World,
    call,
    decode_jwt,
    json_response,
    unauthorized,
)

ROBOT = ClientCredentials(trust_first_issuer=True, client_id="robot", client_secret="s")
KNOWN: Any = {"client_id": "known", "trust_first_issuer": True}


def logged_in(options: OAuthOptions | None = None, later: float = 0, **issuer: Any) -> Scene:
    """A scene after one call that succeeded, and some seconds."""
    scene = Scene(options, issuer)
    assert scene.call().status == 200
    scene.world.time += later
    return scene


def test_a_log_out_of_another_process_is_noticed() -> None:
    """F-AUTH-8: at the latest when the token has to be renewed."""
    scene = logged_in()
    scene.world.run(scene.process().log_out())
    scene.world.time += 10_000
    assert scene.world.run(scene.authorization.current_grant()) is None


def test_a_log_out_while_the_store_is_read_for_the_first_time() -> None:
    """F-AUTH-5, F-AUTH-8: what was read before is not used after."""
    scene = logged_in()
    process = scene.process()
    reading = process.current_grant()
    effect = next(reading)
    assert isinstance(effect, Load)
    record = scene.world.store[effect.key]
    scene.world.run(process.log_out())
    with pytest.raises(StopIteration) as end:
        reading.send(record)
    assert end.value.value is None
    assert scene.world.run(process.current_grant()) is None


def test_a_configured_secret_goes_on_in_another_process() -> None:
    """F-AUTH-5, F-AUTH-6: it is not stored with the tokens, and needed to refresh them."""
    scene = Scene(OAuth(trust_first_issuer=True, client_id="known", client_secret="s3cret"))
    scene.issuer.document["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
    scene.call()
    assert "s3cret" not in repr(scene.world.store)
    scene.world.time += 10_000
    assert scene.call(scene.process()).status == 200
    assert scene.grants() == ["authorization_code", "refresh_token"]
    assert [form["client_secret"] for form in scene.issuer.token_forms] == ["s3cret"] * 2


def test_a_refused_access_token_is_discarded() -> None:
    """F-AUTH-5: also where nothing can renew it, and no user is there to get another one."""
    scene = logged_in(token_fields={})
    scene.issuer.tokens.clear()
    scene.leave()
    assert scene.world.run(scene.authorization.current_grant()) is None
    assert scene.world.run(scene.process().current_grant()) is None


def test_an_early_renewal_that_was_refused_is_an_error() -> None:
    """F-AUTH-5: a refused token is gone, and losing the connection does not renew it."""
    scene = logged_in(later=3560)
    scene.failing_token_endpoint("invalid_grant", 400)

    def lose(request: Authorize) -> Callback:
        raise ConnectionLost("reset")

    scene.world.user = lose
    with pytest.raises(ConnectionLost):
        scene.world.run(scene.authorization.current_grant())


def test_log_out_forgets_every_kind_of_login_and_unfinished_ones() -> None:
    """F-AUTH-8: also a program's login to the same server."""
    scene = logged_in(OAuth(client_id="known"))
    robot = Authorization(scene.authorization.server_url, ROBOT)
    scene.world.store[robot.key] = {**scene.world.store[scene.authorization.key]}
    name = scene.authorization.key.rpartition(" ")[2]
    scene.world.store[f"pending {name}"] = {"pending": []}
    scene.world.run(scene.authorization.log_out())
    assert scene.world.store == {}
    assert scene.world.run(scene.authorization.current_grant()) is None


@pytest.mark.parametrize("seconds", [3560, 3700])
@pytest.mark.parametrize(
    "trouble",
    [
        json_response({"error": "server_error"}, 400),
        json_response({"error": "server_error"}, 503),
        json_response({"message": "no Route matched with those values"}, 404),
        Response(200, (), b"<h1>Log in to this hotel's network</h1>"),
    ],
    ids=lambda trouble: f"{trouble!r}",
)
def test_trouble_at_the_token_endpoint_keeps_the_credentials(
    seconds: int, trouble: Response
) -> None:
    """F-AUTH-5: an early renewal may fail; past the end it is an error; nothing is lost."""
    scene = logged_in(later=seconds)
    token = scene.world.handlers["POST", TOKEN]
    scene.world.on("POST", TOKEN, trouble)
    if seconds < 3600:
        assert scene.call().status == 200
    else:
        with pytest.raises(TokenRequestFailed):
            scene.call()
    scene.world.handlers["POST", TOKEN] = token
    assert scene.call().status == 200
    assert scene.grants()[-1] == "refresh_token"
    assert len(scene.world.visited) == 1


def test_a_client_the_server_forgot_registers_anew() -> None:
    """F-AUTH-2: invalid_client drops the registration too."""
    scene = logged_in(later=10_000)
    token = scene.world.handlers["POST", TOKEN]
    scene.failing_token_endpoint("invalid_client", 401)

    def user(request: Authorize) -> Callback:
        scene.world.handlers["POST", TOKEN] = token
        return scene.issuer.authorize(request)

    scene.world.user = user
    assert scene.call().status == 200
    assert len(scene.issuer.registrations) == 2


@pytest.mark.parametrize(
    ("error", "status", "registrations"), [("invalid_client", 401, 2), ("invalid_grant", 400, 1)]
)
def test_a_failed_code_exchange_drops_the_registration_of_an_unknown_client_only(
    error: str, status: int, registrations: int
) -> None:
    """F-AUTH-2: the error is raised in either case; the next login registers again, or does not."""
    scene = Scene()
    scene.failing_token_endpoint(error, status)
    for _ in range(2):
        with pytest.raises(TokenRequestFailed):
            scene.call()
    assert len(scene.issuer.registrations) == registrations


def test_a_programs_token_is_renewed_early() -> None:
    """F-AUTH-7: client credentials need no user, so the new token comes before the old one ends."""
    scene = logged_in(ROBOT, token_fields={})
    scene.world.time += 3541
    scene.call()
    assert scene.grants() == ["client_credentials", "client_credentials"]
    assert all(sent for sent in scene.server.requests[1:])


def test_refresh_then_a_new_grant_then_the_end() -> None:
    """F-AUTH-5: the rungs after a 401, each taken once."""
    scene = logged_in()
    with pytest.raises(AuthError, match="just issued"):
        scene.answered(unauthorized("Bearer"))
    assert scene.grants() == ["authorization_code", "refresh_token", "authorization_code"]


def forbidden(scope: str | None) -> Response:
    parameter = "" if scope is None else f', scope="{scope}"'
    challenge = f'Bearer error="insufficient_scope"{parameter}'
    return Response(403, [("WWW-Authenticate", challenge)], b"")


def test_scopes_granted_unasked_survive_a_step_up() -> None:
    """F-AUTH-4: the scopes that the server grants by default are not lost."""
    scene = Scene()
    scene.issuer.token_fields["scope"] = "default"
    scene.call()
    scene.answered(forbidden("write"), json_response({}))
    assert scene.issuer.authorizations[1]["scope"] == "default write"


def test_ever_new_scopes_have_an_end() -> None:
    """F-AUTH-4: a server that wants another scope each time asks the user twice at most."""
    scene = logged_in()
    request = scene.request()
    wanted = iter(f"scope{number}" for number in range(100))
    with pytest.raises(InsufficientScope) as caught:
        call(scene.world, request, lambda _: forbidden(next(wanted)))
    assert len(scene.world.visited) == 3
    assert caught.value.required == ("scope2",)


@pytest.mark.parametrize(
    ("scope", "said"), [(None, "more than it names"), ("a", "scopes: a; asked for already: a")]
)
def test_a_403_for_scopes_it_has_is_an_error(scope: str | None, said: str) -> None:
    """F-AUTH-4: without a scope, the metadata's scopes count; the user is not asked again."""
    scene = Scene(metadata={"scopes_supported": ["a"]})
    scene.call()
    with pytest.raises(InsufficientScope, match=said) as caught:
        scene.answered(forbidden(scope))
    assert caught.value.required == ((scope,) if scope else ())
    assert caught.value.requested == ("a",)
    assert len(scene.world.visited) == 1


@pytest.mark.parametrize("other", ["task", "process"])
def test_a_step_up_of_another_one_is_adopted(other: str) -> None:
    """F-AUTH-4: two calls that lack the same scope ask the user once, and send the new token."""
    scene = logged_in()
    faster = scene.request(scene.process() if other == "process" else None)
    request = scene.request()
    for each in (faster, request):
        scene.world.run(each.headers())
    for each in (faster, request):
        assert scene.world.run(each.recover(forbidden("write")))
    assert len(scene.world.visited) == 2
    sent = scene.world.run(request.headers())
    assert sent == {"Authorization": f"Bearer {scene.issuer.tokens[-1]}"}


@pytest.mark.parametrize(
    ("options", "field"),
    [
        (OAuth(**KNOWN, client_secret="s3cret"), "client_secret"),
        (OAuth(**KNOWN, signer=Es256Key.from_random(b"b" * 48)), "client_assertion"),
    ],
    ids=["a secret", "a key"],
)
def test_another_process_finishes_with_the_credentials_it_was_given(
    options: OAuth, field: str
) -> None:
    """F-AUTH-6, F-AUTH-8: which are not stored between the two steps."""
    scene = Scene(options)
    methods = ["client_secret_post", "private_key_jwt"]
    scene.issuer.document["token_endpoint_auth_methods_supported"] = methods
    left = scene.leave()
    assert "s3cret" not in repr(scene.world.store)
    scene.world.run(scene.process().finish(scene.issuer.authorize(left)))
    (form,) = scene.issuer.token_forms
    assert field in form
    assert scene.call(scene.process()).status == 200


def test_only_a_users_authorization_is_finished() -> None:
    """F-AUTH-8: the others have no code."""
    authorization = Authorization(
        "https://mcp.example/mcp", WorkloadIdentity(trust_first_issuer=True, assertion="x")
    )
    with pytest.raises(AuthError, match="user's authorization"):
        World().run(authorization.finish(Callback(code="c", state="s")))


def test_configured_credentials_do_not_move_to_another_issuer() -> None:
    """F-AUTH-2: a server that suddenly names another authorization server gets an error."""
    scene = logged_in(ROBOT)
    evil = AuthorizationServerFake(scene.world, issuer="https://evil.example")
    scene.server.servers = [evil]
    for authorization in (scene.authorization, scene.process()):
        with pytest.raises(RegistrationRequired, match=r"belong to https://auth\.example"):
            scene.call(authorization)
    assert not evil.token_requests
    scene.world.run(scene.authorization.log_out())
    assert scene.call().status == 200


@pytest.fixture
def bound() -> Scene:
    """A user whose token is bound to a key."""
    scene = Scene(OAuth(dpop=True), {"token_fields": {"token_type": "DPoP"}}, scheme="DPoP")
    assert scene.call().status == 200
    return scene


def with_nonce(nonce: str, status: int = 200) -> Response:
    challenge = [("WWW-Authenticate", 'DPoP error="use_dpop_nonce"')] if status == 401 else []
    return Response(status, [*challenge, ("DPoP-Nonce", nonce)], b"")


def test_ever_new_nonces_have_an_end(bound: Scene) -> None:
    """F-AUTH-7: a server that never takes its own nonce gets five tries."""
    numbers = iter(range(100))
    with pytest.raises(AuthError):
        call(bound.world, bound.request(), lambda _: with_nonce(f"n{next(numbers)}", 401))
    assert next(numbers) == 6


def test_a_proof_is_made_for_where_it_is_sent_and_for_one_sending(bound: Scene) -> None:
    """F-AUTH-7: RFC 9449 section 4.2: htu is the URL of this request, and jti is new."""
    request, moved = bound.request(), "https://mcp.example/moved"
    places = [None, f"{moved}?key=1", moved]
    proofs = [decode_jwt(bound.world.run(request.headers(place))["DPoP"])[1] for place in places]
    assert [proof["htu"] for proof in proofs] == [bound.server.url, moved, moved]
    assert len({str(proof["jti"]) for proof in proofs}) == 3
    assert bound.world.run(request.headers("https://evil.example/mcp")) == {}
    assert stored(bound) is not None, "who wants a bound token has one"


def test_an_assertion_that_was_refused_is_not_sent_again() -> None:
    """F-AUTH-7: trouble of the authorization server is not a refusal: the request is sent again."""
    scene = Scene(WorkloadIdentity(trust_first_issuer=True, assertion="jwt"))
    scene.failing_token_endpoint("server_error", 503)
    for _ in range(2):
        with pytest.raises(TokenRequestFailed, match="server_error"):
            scene.call()
    scene.failing_token_endpoint("invalid_grant", 400)
    refusals = []
    for _ in range(2):
        before = len(scene.world.fetched)
        with pytest.raises(TokenRequestFailed, match="invalid_grant") as caught:
            scene.call()
        refusals.append((caught.value, [each.url for each in scene.world.fetched[before:]]))
    (first, asked), (second, asked_again) = refusals
    assert TOKEN in asked and TOKEN not in asked_again
    assert first is not second, "each caller gets a traceback of its own"


def stored(scene: Scene, **options: Any) -> Any:
    """Return the grant that another process with these options finds in the store."""
    other = Authorization(scene.server.url, replace(scene.options, **options))
    return scene.world.run(other.stored_grant())


def test_a_login_from_before_accounts_is_used_as_it_was() -> None:
    """F-SAFE-7: a record without ``asked_scopes`` counts by the scopes requested."""
    scene = logged_in(OAuth(scopes=["read"]))
    (key,) = [key for key in scene.world.store if key.startswith("grant ")]
    record = dict(scene.world.store[key])
    del record["asked_scopes"], record["asked_resource"]
    scene.world.store[key] = record
    assert stored(scene) is not None
    assert stored(scene, scopes=["write"]) is None
