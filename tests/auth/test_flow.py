from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mcpclient.auth.effects import Authorize, Callback, Exclusive, Fetch, Load, Response
from mcpclient.auth.flow import Authorization
from mcpclient.auth.grants import revoke
from mcpclient.auth.obtaining import parse_callback
from mcpclient.auth.options import ClientCredentials, OAuth, OAuthOptions, WorkloadIdentity
from mcpclient.auth.signing import Es256Key
from mcpclient.errors import (
    AuthError,
    AuthorizationRequired,
    ConnectionLost,
    InsufficientScope,
    RegistrationRequired,
    SsrfError,
    TokenRequestFailed,
)

from .world import (
    TOKEN,
    AuthorizationServerFake,
    Scene,
    World,
    call,
    call_server,
    decode_jwt,
    form_of,
    json_response,
    query_of,
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


def test_a_public_server_costs_nothing() -> None:
    """F-AUTH-1: no request beyond the caller's own before a server asks for authorization."""
    world = World()
    request = Authorization("https://mcp.example/mcp", OAuth()).request(
        "POST", "https://mcp.example/mcp"
    )
    assert call(world, request, lambda _: json_response({})).status == 200
    assert not world.fetched


def test_tokens_stay_with_the_servers_origin() -> None:
    """F-AUTH-5: another origin gets no token, whatever path leads there."""
    scene = logged_in()
    for url in ("https://other.example/mcp", "https://mcp.example:8443/mcp"):
        request = scene.authorization.request("POST", url)
        assert scene.world.run(request.headers()) == {}
        assert not scene.world.run(request.recover(unauthorized("Bearer")))
    assert scene.grants() == ["authorization_code"]


def test_the_stored_grant_can_be_looked_at() -> None:
    """F-AUTH-5: what `auth status` shows; nothing is refreshed by looking."""
    scene = Scene()
    assert scene.world.run(scene.authorization.stored_grant()) is None
    scene.call()
    scene.world.time += 10_000
    grant = scene.world.run(scene.process().stored_grant())
    assert grant is not None
    assert grant.client.issuer == "https://auth.example"
    assert grant.tokens.has_expired(scene.world.time)
    assert scene.grants() == ["authorization_code"]


def test_a_token_is_refreshed_a_minute_early() -> None:
    """F-AUTH-5: 60 s early expiry; the refresh token is rotated, and kept for other processes."""
    scene = logged_in()
    scene.issuer.token_fields["refresh_token"] = "second"
    scene.world.time += 3600 - 61
    scene.call()
    assert scene.grants() == ["authorization_code"]
    scene.world.time += 1
    scene.call()
    scene.world.time += 3540
    scene.call()
    assert scene.grants() == ["authorization_code", "refresh_token", "refresh_token"]
    used = [form.get("refresh_token") for form in scene.issuer.token_forms]
    assert used == [None, "first", "second"]
    scene.world.time += 10_000
    assert scene.call(scene.process()).status == 200
    assert len(scene.world.visited) == 1, "a new process needs no browser"
    assert scene.issuer.token_forms[1]["resource"] == scene.server.url


def test_one_refresh_for_everyone() -> None:
    """F-AUTH-5: who waited for the lock takes over what the first one got."""
    scene = logged_in()
    other = scene.process()
    scene.world.run(other.current_grant())
    scene.world.time += 10_000
    for authorization in (scene.authorization, other, scene.process()):
        assert scene.call(authorization).status == 200
    assert scene.grants() == ["authorization_code", "refresh_token"]
    assert all(scene.server.requests[1:]), "nobody had to be refused first"


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


def test_one_refresh_after_many_401s() -> None:
    """F-AUTH-5: a revoked token is replaced once, and the other callers adopt the new one."""
    scene = logged_in()
    requests = [scene.request() for _ in range(3)]
    sent = [scene.world.run(request.headers()) for request in requests]
    scene.issuer.tokens.clear()
    scene.issuer.tokens.append("padding")
    refusals = [scene.server.answer(headers) for headers in sent]
    for request, refusal in zip(requests, refusals):
        assert refusal.status == 401
        assert scene.world.run(request.recover(refusal))
    for request in requests:
        assert scene.server.answer(scene.world.run(request.headers())).status == 200
    assert scene.grants() == ["authorization_code", "refresh_token"]


def test_what_changes_credentials_is_under_the_lock() -> None:
    """F-AUTH-5: one lock for refresh, authorization, log-in and log-out."""
    scene = logged_in(later=10_000)
    scene.call()
    scene.world.run(scene.authorization.log_in())
    scene.world.run(scene.authorization.log_out())
    locks = [effect for effect in scene.world.effects if isinstance(effect, Exclusive)]
    assert len(locks) == 4
    assert {lock.name for lock in locks} == {"grant OAuth https://mcp.example/mcp"}


def test_a_refused_refresh_token_is_discarded() -> None:
    """F-AUTH-5: credentials rejected once are gone, and the user is asked."""
    scene = logged_in(later=10_000)
    scene.failing_token_endpoint("invalid_grant", 400)
    for _ in range(2):
        scene.leave()
        assert scene.world.urls("POST").count(TOKEN) == 2
    assert len(scene.issuer.registrations) == 1, "the client is as good as before"


def test_a_refused_access_token_is_discarded() -> None:
    """F-AUTH-5: also where nothing can renew it, and nobody is there to get another one."""
    scene = logged_in(token_fields={})
    scene.issuer.tokens.clear()
    scene.leave()
    assert scene.world.run(scene.authorization.current_grant()) is None
    assert scene.world.run(scene.process().current_grant()) is None


def test_an_early_renewal_that_was_refused_is_an_error() -> None:
    """F-AUTH-5: what was refused is gone, and a lost connection afterwards is no renewal."""
    scene = logged_in(later=3560)
    scene.failing_token_endpoint("invalid_grant", 400)

    def lose(request: Authorize) -> Callback:
        raise ConnectionLost("reset")

    scene.world.user = lose
    with pytest.raises(ConnectionLost):
        scene.world.run(scene.authorization.current_grant())


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
    """F-AUTH-2: the error is told in either case; the next login registers again, or does not."""
    scene = Scene()
    scene.failing_token_endpoint(error, status)
    for _ in range(2):
        with pytest.raises(TokenRequestFailed):
            scene.call()
    assert len(scene.issuer.registrations) == registrations


WELCOME = (("Content-Type", "text/html"),)


@pytest.mark.parametrize("seconds", [3560, 3700])
@pytest.mark.parametrize(
    "trouble",
    [
        *(json_response({"error": "server_error"}, status) for status in (400, 408, 429, 500, 503)),
        json_response({"error": "temporarily_unavailable"}, 400),
        json_response({"message": "no Route matched with those values"}, 404),
        Response(404, (), b""),
        Response(200, WELCOME, b"<h1>Log in to this hotel's network</h1>"),
        Response(403, WELCOME, b"<h1>Blocked</h1>"),
        ConnectionLost("the cable"),
    ],
    ids=lambda trouble: f"{trouble!r} {getattr(trouble, 'body', b'')[:20]!r}",
)
def test_trouble_at_the_token_endpoint_keeps_the_credentials(
    seconds: int, trouble: Response | ConnectionLost
) -> None:
    """F-AUTH-5: an early renewal may fail; past the end it is an error; nothing is lost."""
    scene = logged_in(later=seconds)
    token = scene.world.handlers["POST", TOKEN]

    def fail(_: Fetch) -> Response:
        if isinstance(trouble, ConnectionLost):
            raise trouble
        return trouble

    scene.world.on("POST", TOKEN, fail)
    if seconds < 3600:
        assert scene.call().status == 200
    else:
        with pytest.raises((TokenRequestFailed, ConnectionLost)) as caught:
            scene.call()
        assert getattr(caught.value, "status", None) == getattr(trouble, "status", None)
    scene.world.handlers["POST", TOKEN] = token
    assert scene.call().status == 200
    assert scene.grants()[-1] == "refresh_token"
    assert len(scene.world.visited) == 1


@pytest.mark.parametrize(
    "answer",
    [
        Response(400, WELCOME, b"<h1>Bad Request</h1>"),
        Response(401, (), b""),
        json_response({"error": "bad_refresh_token"}, 200),
        json_response({"error": "access_denied"}, 403),
    ],
    ids=lambda answer: f"{answer.status} {answer.body[:30]!r}",
)
def test_a_refusal_in_other_words_is_one(answer: Response) -> None:
    """F-AUTH-5: with the status for it, or with an error code, whatever the other one is."""
    scene = logged_in(later=10_000)
    scene.world.on("POST", TOKEN, answer)
    scene.leave()


def test_a_token_without_a_refresh_token_is_used_to_its_end() -> None:
    """F-AUTH-5: only a human can renew it, so not a minute early."""
    scene = logged_in(token_fields={})
    scene.world.time += 3599
    scene.call()
    assert len(scene.world.visited) == 1
    scene.world.time += 1
    scene.call()
    assert len(scene.world.visited) == 2


def test_a_token_that_never_ends_is_used_until_it_is_refused() -> None:
    """F-AUTH-5: where the server says nothing about it."""
    scene = Scene()
    scene.issuer.token_fields["expires_in"] = None
    scene.call()
    scene.world.time += 1e9
    scene.call()
    assert scene.grants() == ["authorization_code"]
    assert all(scene.server.requests[1:])


def test_a_programs_token_is_renewed_early() -> None:
    """F-AUTH-7: client credentials need nobody, so the new token comes before the old one ends."""
    scene = logged_in(ROBOT, token_fields={})
    scene.world.time += 3541
    scene.call()
    assert scene.grants() == ["client_credentials", "client_credentials"]
    assert all(sent for sent in scene.server.requests[1:])


def test_a_401_for_ever_ends() -> None:
    """F-AUTH-5: a token just issued and refused at once is an error, not a loop."""
    scene = Scene()
    with pytest.raises(AuthError, match="just issued"):
        scene.answered(unauthorized("Bearer"))
    assert len(scene.world.visited) == 1


def test_refresh_then_a_new_grant_then_the_end() -> None:
    """F-AUTH-5: the rungs after a 401, each taken once."""
    scene = logged_in()
    with pytest.raises(AuthError, match="just issued"):
        scene.answered(unauthorized("Bearer"))
    assert scene.grants() == ["authorization_code", "refresh_token", "authorization_code"]


def test_adopting_others_tokens_has_an_end() -> None:
    """F-AUTH-5: even when another process stores a new useless token every time."""
    scene = logged_in()
    key = "grant OAuth https://mcp.example/mcp"
    counter = iter(range(100))

    def another_process() -> None:
        tokens: Any = scene.world.store[key]["tokens"]
        tokens["access_token"] = f"x{next(counter)}"

    scene.world.before_lock = another_process
    with pytest.raises(AuthError, match="every token"):
        scene.answered(unauthorized("Bearer"))
    assert next(counter) == 5


def test_a_403_of_another_kind_is_the_callers() -> None:
    """F-AUTH-4: forbidden is not a want of scope."""
    scene = logged_in()
    other = Response(403, [("WWW-Authenticate", 'Bearer error="invalid_token"')], b"")
    assert scene.answered(other).status == 403
    assert scene.grants() == ["authorization_code"]


def forbidden(scope: str | None) -> Response:
    parameter = "" if scope is None else f', scope="{scope}"'
    challenge = f'Bearer error="insufficient_scope"{parameter}'
    return Response(403, [("WWW-Authenticate", challenge)], b"")


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
    """F-AUTH-4: without a scope, those of the metadata count; nobody is asked again."""
    scene = Scene(metadata={"scopes_supported": ["a"]})
    scene.call()
    with pytest.raises(InsufficientScope, match=said) as caught:
        scene.answered(forbidden(scope))
    assert caught.value.required == ((scope,) if scope else ())
    assert caught.value.requested == ("a",)
    assert len(scene.world.visited) == 1


def test_a_403_without_a_token_asks_for_one() -> None:
    """F-AUTH-4: some servers answer 403 to a request without credentials."""
    scene = Scene()
    assert scene.answered(forbidden("a"), json_response({})).status == 200
    assert scene.issuer.authorizations[0]["scope"] == "a"


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


def test_scopes_granted_unasked_survive_a_step_up() -> None:
    """F-AUTH-4: what the server granted by default is not lost."""
    scene = Scene()
    scene.issuer.token_fields["scope"] = "default"
    scene.call()
    scene.answered(forbidden("write"), json_response({}))
    assert scene.issuer.authorizations[1]["scope"] == "default write"


def test_a_renewal_keeps_the_scopes_of_a_step_up() -> None:
    """F-AUTH-4: what was asked for once is asked for again, where no refresh token can."""
    scene = logged_in(ROBOT, token_fields={})
    scene.answered(forbidden("write"), json_response({}))
    scene.world.time += 3600
    scene.call()
    assert [form.get("scope") for form in scene.issuer.token_forms] == [None, "write", "write"]


@pytest.mark.parametrize("occasion", ["step-up", "renewal", "refusal"])
def test_scopes_are_those_of_one_issuer(occasion: str) -> None:
    """F-AUTH-4: another one's say nothing, and what is refused for its sake is not refreshed."""
    scene = Scene()
    scene.issuer.token_fields["scope"] = "old write"
    scene.server.metadata["scopes_supported"] = ["old"]
    if occasion == "renewal":
        del scene.issuer.token_fields["refresh_token"]
    scene.call()
    moved = AuthorizationServerFake(scene.world, issuer="https://new.example")
    scene.server.servers = [moved]
    scene.world.user = moved.authorize
    if occasion == "step-up":
        scene.answered(forbidden("write"), json_response({}))
    else:
        scene.server.metadata["scopes_supported"] = ["write"]
        scene.world.time += 3600 if occasion == "renewal" else 0
        scene.call()
    assert [asked["scope"] for asked in moved.authorizations] == ["write"]
    assert scene.grants() == ["authorization_code"]


def test_a_step_up_nobody_is_there_for_keeps_the_old_token() -> None:
    """F-AUTH-4: other calls go on with the scopes they have."""
    scene = logged_in()
    scene.world.user = scene.world._nobody
    with pytest.raises(AuthorizationRequired):
        scene.answered(forbidden("write"))
    assert scene.call().status == 200


def test_two_steps_and_two_processes() -> None:
    """F-AUTH-8: AuthorizationRequired carries the URL; another process finishes, once."""
    scene = Scene()
    callback = scene.issuer.authorize(scene.leave())
    assert query_of(scene.world.visited[0].url)["state"] == callback.state
    pasted = f"http://127.0.0.1:8765/callback?code={callback.code}&state={callback.state}"
    scene.world.run(scene.process().finish(parse_callback(pasted)))
    for authorization in (scene.process(), scene.authorization):  # the one that was left, too
        assert scene.call(authorization).status == 200
    assert len(scene.world.visited) == 1
    with pytest.raises(AuthError, match="belongs to no login that was begun here"):
        scene.world.run(scene.process().finish(parse_callback(pasted)))


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


def test_log_in_uses_what_a_refusal_tells() -> None:
    """F-AUTH-8: metadata in an odd place is found through the 401."""
    scene = Scene()
    scene.server.metadata_url = "https://mcp.example/odd"
    del scene.world.handlers["GET", "https://mcp.example/.well-known/oauth-protected-resource/mcp"]
    scene.world.on(
        "GET", "https://mcp.example/odd", lambda _: json_response(scene.server.document())
    )
    scene.world.run(scene.authorization.log_in(scene.server.answer({})))
    assert scene.call().status == 200
    scene.world.time += 10_000
    scene.failing_token_endpoint("invalid_grant", 400)
    with pytest.raises(TokenRequestFailed):
        scene.call()
    assert len(scene.world.visited) == 2


def test_log_out_forgets_everything_of_the_server() -> None:
    """F-AUTH-8: tokens, the binding and unfinished authorizations; the registration is kept."""
    scene = logged_in(OAuth(client_id="known"))
    scene.world.user = scene.world._nobody
    with pytest.raises(AuthorizationRequired):
        scene.world.run(scene.authorization.log_in())
    assert len(scene.world.store) == 3
    scene.world.run(scene.authorization.log_out())
    assert scene.world.store == {}
    assert scene.world.run(scene.authorization.current_grant()) is None


@pytest.mark.parametrize(
    ("fields", "token", "kind"),
    [
        ({"refresh_token": "first"}, "first", "refresh_token"),
        ({}, "token-1-of-auth.example", "access_token"),
    ],
)
def test_a_login_is_revoked_where_that_is_offered(
    fields: dict[str, object], token: str, kind: str
) -> None:
    """F-AUTH-8: RFC 7009 section 2.1; what was said in another process is known here."""
    scene = Scene()
    revocation = "https://auth.example/revoke"
    scene.issuer.document["revocation_endpoint"] = revocation
    scene.issuer.token_fields = fields
    scene.world.on("POST", revocation, Response(200, [], b""))
    scene.call()
    authorization = scene.process()
    grant = scene.world.run(authorization.log_out())
    assert grant is not None
    assert scene.world.run(authorization.current_grant()) is None
    scene.world.run(revoke(grant, authorization.policy))
    form = form_of(scene.world.fetched[-1])
    assert scene.world.fetched[-1].url == revocation
    assert (form["token"], form["token_type_hint"]) == (token, kind)
    scene.world.on("POST", revocation, json_response({"error": "no"}, 503))
    with pytest.raises(TokenRequestFailed):
        scene.world.run(revoke(grant, authorization.policy))


def test_a_login_is_not_revoked_where_it_cannot_be() -> None:
    """F-AUTH-8: no endpoint, no request; one elsewhere, no token for it."""
    scene = logged_in()
    grant = scene.world.run(scene.authorization.stored_grant())
    assert grant is not None
    count = len(scene.world.fetched)
    scene.world.run(revoke(grant, scene.authorization.policy))
    assert len(scene.world.fetched) == count
    elsewhere = replace(grant, revocation_endpoint="https://evil.example/revoke")
    with pytest.raises(SsrfError):
        scene.world.run(revoke(elsewhere, scene.authorization.policy))
    assert scene.world.run(scene.authorization.log_out()) is not None
    assert scene.world.run(scene.authorization.log_out()) is None


def test_configured_credentials_do_not_move_to_another_issuer() -> None:
    """F-AUTH-2: a server that suddenly names another authorization server gets an error."""
    scene = logged_in(ROBOT)
    evil = AuthorizationServerFake(scene.world, issuer="https://evil.example")
    scene.server.servers = [evil]
    for authorization in (scene.authorization, scene.process()):
        with pytest.raises(RegistrationRequired, match=r"those of https://auth\.example"):
            scene.call(authorization)
    assert not evil.token_requests
    scene.world.run(scene.authorization.log_out())
    assert scene.call().status == 200


@pytest.mark.parametrize(
    "options",
    [OAuth(client_id="other"), OAuth(issuer="https://other.example")],
    ids=["client_id", "issuer"],
)
def test_a_grant_of_another_identity_is_not_used(options: OAuth) -> None:
    """F-AUTH-2: what is stored belongs to a client and to an issuer."""
    scene = logged_in()
    other = Authorization(scene.server.url, options)
    assert scene.world.run(other.current_grant()) is None


def test_a_damaged_record_is_no_grant() -> None:
    """F-AUTH-9: a corrupt store costs a log-in, not a crash."""
    scene = logged_in()
    key = "grant OAuth https://mcp.example/mcp"
    scene.world.store[key] = {**scene.world.store[key], "client": {}}
    assert scene.call(scene.process()).status == 200


def test_a_secret_in_the_servers_query_is_in_no_key() -> None:
    """F-AUTH-12: the store's keys are shown in logs."""
    scene = Scene()
    authorization = Authorization(scene.server.url + "?api_key=hunter2", OAuth())
    scene.server.metadata["resource"] = scene.server.url
    call_server(scene.world, authorization, scene.server)
    assert "hunter2" not in repr(list(scene.world.store)) + repr(authorization)
    assert scene.world.run(scene.process().current_grant()) is None


def keys_of(scene: Scene) -> set[str]:
    """The keys that the token requests were made with."""
    return {request.headers["DPoP"].split(".")[0] for request in scene.issuer.token_requests}


def test_dpop_where_the_metadata_requires_it_and_through_a_refresh() -> None:
    """F-AUTH-7: the key is stored with its tokens, and a new process goes on with it."""
    scene = Scene(scheme="DPoP", metadata={"dpop_bound_access_tokens_required": True})
    scene.issuer.token_fields["token_type"] = "DPoP"
    scene.call()
    scene.world.time += 10_000
    assert scene.call(scene.process()).status == 200
    scene.issuer.token_fields = {"token_type": "DPoP"}
    scene.world.time += 10_000
    assert scene.call().status == 200
    stepping_up = scene.request(scene.process())
    scene.world.run(stepping_up.headers())
    assert scene.world.run(stepping_up.recover(forbidden("write")))
    assert len(scene.issuer.authorizations) == 2
    assert len(keys_of(scene)) == 1


def test_a_renewal_is_bound_to_a_key_where_the_token_was() -> None:
    """F-AUTH-7: also where only a challenge has asked for DPoP, and nothing can be refreshed."""
    scene = Scene(ROBOT, {"token_fields": {"token_type": "DPoP"}}, scheme="DPoP")
    scene.call()
    scene.world.time += 3541
    assert scene.world.run(scene.authorization.current_grant()) is not None
    assert len(scene.issuer.token_requests) == 2
    assert len(keys_of(scene)) == 1


@pytest.fixture
def bound() -> Scene:
    """A user whose token is bound to a key."""
    scene = Scene(OAuth(dpop=True), {"token_fields": {"token_type": "DPoP"}}, scheme="DPoP")
    assert scene.call().status == 200
    return scene


def with_nonce(nonce: str, status: int = 200) -> Response:
    challenge = [("WWW-Authenticate", 'DPoP error="use_dpop_nonce"')] if status == 401 else []
    return Response(status, [*challenge, ("DPoP-Nonce", nonce)], b"")


def test_a_nonce_in_any_answer_is_taken_up(bound: Scene) -> None:
    """F-AUTH-7: RFC 9449 section 8.2: also in one that succeeds."""
    bound.answered(with_nonce("next"))
    bound.server.nonce = "next"
    before = len(bound.server.requests)
    assert bound.call().status == 200
    assert len(bound.server.requests) == before + 1


def test_a_nonce_that_is_asked_for_costs_no_token(bound: Scene) -> None:
    """F-AUTH-7: RFC 9449 section 9: the same token again, with a proof that has the nonce."""
    bound.server.nonce = "first"
    before = len(bound.server.requests)
    assert bound.call().status == 200
    assert len(bound.server.requests) == before + 2
    assert bound.grants() == ["authorization_code"]


def test_ever_new_nonces_have_an_end(bound: Scene) -> None:
    """F-AUTH-7: a server that never takes its own nonce gets five tries."""
    numbers = iter(range(100))
    with pytest.raises(AuthError):
        call(bound.world, bound.request(), lambda _: with_nonce(f"n{next(numbers)}", 401))
    assert next(numbers) == 6


def test_an_expired_token_in_the_store_is_not_adopted() -> None:
    """F-AUTH-5: what another process left behind long ago is refreshed, not sent."""
    scene = logged_in()
    request = scene.request(scene.process())
    scene.world.time += 10_000
    assert scene.world.run(request.recover(unauthorized("Bearer")))
    assert scene.grants() == ["authorization_code", "refresh_token"]


def test_metadata_requests_tell_the_protocol_version() -> None:
    """F-AUTH-1: revision 2025-03-26 wants it; before one is agreed on, there is none to tell."""
    for version in ("2025-03-26", None):
        scene = Scene()
        scene.call(Authorization(scene.server.url, OAuth(), protocol_version=version))
        headers = [each.headers for each in scene.world.fetched if each.method == "GET"]
        assert {each.get("MCP-Protocol-Version") for each in headers} == {version}
        assert all(("MCP-Protocol-Version" in each) == bool(version) for each in headers)


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
    """F-AUTH-7: trouble of the authorization server is no refusal: after it, it is sent again."""
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


@pytest.mark.parametrize(
    ("made_with", "fits", "fits_not"),
    [
        ({}, [{}], [{"scopes": ["read"]}, {"resource": "https://other.example"}, {"dpop": True}]),
        (
            {"scopes": ["read"]},
            [{"scopes": ["read"]}, {"scopes": None}],
            [{"scopes": ["read", "write"]}, {"scopes": []}],
        ),
        (
            {"resource": "https://mcp.example/mcp"},
            [{}],
            [{"resource": None}, {"resource": ""}, {"resource": "https://mcp.example"}],
        ),
        ({"account": "work"}, [{}], [{"account": None}, {"account": "home"}]),
    ],
)
def test_a_login_is_used_for_what_it_was_made_for(
    made_with: Any, fits: list[Any], fits_not: list[Any]
) -> None:
    """F-SAFE-7: another entry with the same URL that asks for something else logs in itself."""
    scene = logged_in(OAuth(**made_with))
    for options in fits:
        assert stored(scene, **options) is not None, options
    for options in fits_not:
        assert stored(scene, **options) is None, options


def test_a_login_from_before_accounts_is_used_as_it_was() -> None:
    """F-SAFE-7: a record that does not say what was asked for says what was requested."""
    scene = logged_in(OAuth(scopes=["read"]))
    (key,) = [key for key in scene.world.store if key.startswith("grant ")]
    record = dict(scene.world.store[key])
    del record["asked_scopes"], record["asked_resource"]
    scene.world.store[key] = record
    assert stored(scene) is not None
    assert stored(scene, scopes=["write"]) is None


def test_accounts_at_one_url_keep_apart() -> None:
    """F-SAFE-7: each logs in, is refreshed and logged out by itself."""
    scene = logged_in(OAuth(account="work"))
    home = Authorization(scene.server.url, OAuth(account="home/b#c"))
    scene.call(home)
    assert scene.grants() == ["authorization_code", "authorization_code"]
    names = [key for key in scene.world.store if key.startswith("grant ")]
    assert [name.partition("#")[2] for name in sorted(names)] == ["home%2Fb%23c", "work"]
    scene.world.run(home.log_out())
    assert stored(scene) is not None
    assert scene.world.run(home.stored_grant()) is None


def test_a_login_for_something_else_is_revoked_all_the_same() -> None:
    """F-SAFE-7: logging out means every login of the account at this URL."""
    scene = logged_in(OAuth(scopes=["read"]))
    other = Authorization(scene.server.url, OAuth(scopes=["write"]))
    assert scene.world.run(other.log_out()) is not None
    assert stored(scene) is None
