from __future__ import annotations

import hmac
import json
from typing import Any

import pytest

from mcpclient.auth.effects import Authorize, Callback
from mcpclient.auth.grants import Grant, GrantRequest
from mcpclient.auth.obtaining import (
    Pending,
    by_code,
    code_challenge,
    finish,
    forget_pending,
    parse_callback,
    same_state,
    take_pending,
)
from mcpclient.auth.options import OAuth
from mcpclient.auth.signing import DpopProver, Es256Key
from mcpclient.auth.url_guard import UrlPolicy
from mcpclient.errors import (
    AuthError,
    AuthorizationDenied,
    AuthorizationRequired,
    TokenRequestFailed,
    UsageError,
)

from .world import (
    REDIRECT,
    SERVER,
    TOKEN,
    AuthorizationServerFake,
    World,
    form_of,
    grant_request,
    json_response,
    query_of,
)

KEY = f"pending {SERVER}"


def request(fake: AuthorizationServerFake, **asked: Any) -> GrantRequest:
    return grant_request(fake, **{"resource": "https://mcp.example/MCP?x=ü&y", **asked})


def scene(**options: object) -> tuple[World, AuthorizationServerFake]:
    world = World()
    fake = AuthorizationServerFake(world, **options)  # type: ignore[arg-type]
    world.user = fake.authorize
    return world, fake


def test_the_published_challenge() -> None:
    """F-AUTH-3: RFC 7636 appendix B."""
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    assert code_challenge(verifier) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def test_out_and_back() -> None:
    """F-AUTH-3: what goes to the browser, and what to the token endpoint."""
    world, fake = scene()
    grant = world.run(by_code(request(fake, scopes=("a", "b")), OAuth()))
    query = fake.authorizations[0]
    assert set(query) == {
        *("response_type", "client_id", "redirect_uri", "state", "scope", "resource"),
        *("code_challenge", "code_challenge_method"),
    }
    assert query["state"] == world.visited[0].state
    assert query["resource"] == "https://mcp.example/MCP?x=ü&y"
    assert query["scope"] == "a b"
    form = form_of(world.fetched[-1])
    assert form["resource"] == query["resource"]
    assert 43 <= len(form["code_verifier"]) <= 128
    assert "scope" not in form
    assert grant.requested_scopes == ("a", "b")
    assert grant.resource_metadata_url == "https://mcp.example/metadata"
    assert KEY not in world.store


def test_no_resource_where_none_is_wanted() -> None:
    """F-AUTH-3: the resource parameter."""
    world, fake = scene()
    world.run(by_code(request(fake, resource=None), OAuth()))
    assert "resource" not in fake.authorizations[0]
    assert "resource" not in fake.token_forms[0]


def test_an_endpoints_own_query_is_kept() -> None:
    """F-AUTH-3: RFC 6749 section 3.1; its fragment is not."""
    world, fake = scene(metadata={"authorization_endpoint": "https://auth.example/a?tenant=1#x"})
    world.run(by_code(request(fake), OAuth()))
    assert world.visited[0].url.startswith("https://auth.example/a?tenant=1&response_type=code&")
    assert "#" not in world.visited[0].url


@pytest.mark.parametrize(
    ("metadata", "match"),
    [
        ({"code_challenge_methods_supported": None}, "does not offer PKCE"),
        ({"code_challenge_methods_supported": []}, "does not offer PKCE"),
        ({"code_challenge_methods_supported": ["plain"]}, "does not offer PKCE"),
        ({"authorization_endpoint": None}, "no authorization_endpoint"),
    ],
)
def test_a_server_without_pkce_is_refused(metadata: dict[str, object], match: str) -> None:
    """F-AUTH-3: absent means unsupported; nobody is asked and nothing registered."""
    world, fake = scene(metadata=metadata)
    with pytest.raises(AuthError, match=match):
        world.run(by_code(request(fake), OAuth()))
    assert not world.visited
    assert not world.fetched


def test_the_redirect_registered_before_is_offered() -> None:
    """F-AUTH-8: the shell can listen there again and save a registration."""
    world, fake = scene()
    world.run(by_code(request(fake), OAuth()))
    world.run(by_code(request(fake), OAuth()))
    assert [effect.registered for effect in world.redirects] == [(), (REDIRECT,)]
    assert len(fake.registrations) == 1
    own = "http://localhost:3000/cb"
    world.run(by_code(request(fake), OAuth(redirect_uri=own)))
    assert (world.redirects[2].configured, fake.authorizations[2]["redirect_uri"]) == (own, own)
    assert fake.registrations[1]["redirect_uris"] == [own]


@pytest.mark.parametrize("state", [None, "", "wrong", "é\udc80"])
def test_a_wrong_state_is_refused(state: str | None) -> None:
    """F-AUTH-3: the code goes nowhere, and the right answer may still come."""
    world, fake = scene()
    world.user = lambda sent: Callback(code="c", state=state, iss=fake.issuer)
    with pytest.raises(AuthError, match="belongs to no login that was begun here"):
        world.run(by_code(request(fake), OAuth()))
    assert not fake.token_forms
    assert KEY in world.store


def test_states_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-3: how long it takes tells nobody how much of a guess was right."""
    monkeypatch.setattr(hmac, "compare_digest", lambda one, other: False)
    assert not same_state("state", "state")


def test_the_user_says_no() -> None:
    """F-AUTH-3: an error of its own, with the server's words."""
    world, fake = scene()
    world.user = lambda sent: Callback(
        state=sent.state, error="access_denied", error_description=f"no\x07 {sent.state}"
    )
    with pytest.raises(AuthorizationDenied) as caught:
        world.run(by_code(request(fake), OAuth()))
    assert (caught.value.error, caught.value.description) == ("access_denied", "no  …")
    assert str(caught.value).endswith("access_denied: no  …")


def test_a_strangers_error_is_not_shown() -> None:
    """F-AUTH-3: RFC 9207: a wrong iss comes before the error."""
    world, fake = scene()
    world.user = lambda sent: Callback(
        state=sent.state, error="visit-evil", iss="https://evil.example"
    )
    with pytest.raises(AuthError) as caught:
        world.run(by_code(request(fake), OAuth()))
    assert "visit-evil" not in str(caught.value)


def test_no_code() -> None:
    """F-AUTH-3."""
    world, fake = scene()
    world.user = lambda sent: Callback(state=sent.state)
    with pytest.raises(AuthError, match="no code"):
        world.run(by_code(request(fake), OAuth()))


def test_a_replayed_code_is_the_servers_to_refuse_and_ours_to_report() -> None:
    """F-AUTH-3: invalid_grant from the token endpoint is told as it is."""
    world, fake = scene()
    world.on("POST", TOKEN, json_response({"error": "invalid_grant"}, 400))
    with pytest.raises(TokenRequestFailed, match="invalid_grant"):
        world.run(by_code(request(fake), OAuth()))


def pending_after_leaving(world: World, fake: AuthorizationServerFake, **extra: Any) -> Authorize:
    world.user = world._nobody
    with pytest.raises(AuthorizationRequired):
        world.run(by_code(request(fake, **extra), OAuth()))
    return world.visited[-1]


def test_another_process_finishes() -> None:
    """F-AUTH-8: the record holds what is needed, the DPoP key too, and is taken once."""
    world, fake = scene(token_fields={"token_type": "DPoP"})
    prover = DpopProver(Es256Key.from_random(b"q" * 48))
    left = pending_after_leaving(world, fake, prover=prover, scopes=("a",))
    callback = fake.authorize(left)
    pending = world.run(take_pending(SERVER, callback.state, OAuth()))
    assert world.store.keys() == {"client https://auth.example"}
    grant: Grant = world.run(finish(pending, callback, UrlPolicy()))
    assert grant.tokens.token_type == "DPoP"
    assert grant.prover is not None
    assert grant.prover.key.to_secret() == prover.key.to_secret()
    assert grant.requested_scopes == ("a",)
    with pytest.raises(AuthError):
        world.run(take_pending(SERVER, callback.state, OAuth()))


def test_several_may_be_under_way() -> None:
    """F-AUTH-8: four of them, none older than an hour."""
    world, fake = scene()
    states = []
    for _ in range(6):
        states.append(pending_after_leaving(world, fake).state)
        world.time += 1
    with pytest.raises(AuthError):
        world.run(take_pending(SERVER, states[1], OAuth()))
    assert world.run(take_pending(SERVER, states[2], OAuth())).state == states[2]
    assert world.run(take_pending(SERVER, states[5], OAuth())).state == states[5]
    world.time += 3600
    last = pending_after_leaving(world, fake)
    with pytest.raises(AuthError):
        world.run(take_pending(SERVER, states[4], OAuth()))
    assert world.run(take_pending(SERVER, last.state, OAuth())).state == last.state
    pending_after_leaving(world, fake)
    world.run(forget_pending(SERVER))
    assert KEY not in world.store


@pytest.mark.parametrize(
    "damage",
    [
        {"client": 7},
        {"client": {}},
        {"verifier": None},
        {"token_endpoint": 7},
        {"requested_scopes": None},
        {"created_at": "x"},
        {"dpop_key": "!"},
    ],
)
def test_a_damaged_record_is_not_taken(damage: dict[str, object]) -> None:
    """F-AUTH-9: a corrupt store costs another visit."""
    world, fake = scene()
    left = pending_after_leaving(world, fake)
    records = world.store[KEY]["pending"]
    assert isinstance(records, list)
    records[0].update(damage)
    with pytest.raises(AuthError, match="begun here"):
        world.run(take_pending(SERVER, left.state, OAuth()))
    pending_after_leaving(world, fake)


@pytest.mark.parametrize("record", [{}, {"pending": 7}, {"pending": [7]}])
def test_a_damaged_store_is_as_an_empty_one(record: dict[str, object]) -> None:
    """F-AUTH-9."""
    world, fake = scene()
    world.store[KEY] = record
    grant = world.run(by_code(request(fake), OAuth()))
    assert grant.tokens.access_token


def test_a_pending_record_survives_json_and_shows_nothing() -> None:
    """F-AUTH-12."""
    world, fake = scene()
    left = pending_after_leaving(world, fake)
    pending = world.run(take_pending(SERVER, left.state, OAuth()))
    again = Pending.from_record(json.loads(json.dumps(pending.to_record())), OAuth())
    assert again == pending
    assert pending.verifier not in repr(pending)
    assert pending.state not in repr(pending)
    assert query_of(left.url)["code_challenge"] not in repr(left)


@pytest.mark.parametrize(
    "text",
    [
        "http://127.0.0.1:1/cb?code=c&state=s&iss=https%3A%2F%2Fi",
        " http://127.0.0.1:1/cb?code=c&state=s&iss=https%3A%2F%2Fi#fragment\n",
        "code=c&state=s&iss=https://i&extra=1",
        "com.app:/cb?code=c&state=s&iss=https://i",
    ],
)
def test_a_pasted_callback_is_read(text: str) -> None:
    """F-AUTH-8: the whole address or its query."""
    assert parse_callback(text) == Callback(code="c", state="s", iss="https://i")
    assert parse_callback("?error=access_denied&state=s&error_description=no+way") == Callback(
        state="s", error="access_denied", error_description="no way"
    )


@pytest.mark.parametrize(
    "text",
    [
        *("", "just-a-code", "http://127.0.0.1/cb", "http://127.0.0.1/cb?state=s"),
        *("code=a&code=b&state=s", "code=a&state=s&state=t"),
        "&".join(["a=b"] * 200),
    ],
)
def test_a_pasted_something_else_is_refused(text: str) -> None:
    """F-AUTH-8: also parameters that come twice (RFC 6749 section 3.1)."""
    with pytest.raises(UsageError, match="not the address"):
        parse_callback(text)
