from __future__ import annotations

import json
from typing import Any

import pytest

from mcpclient.auth.effects import Authorize, Callback
from mcpclient.auth.grants import GrantRequest
from mcpclient.auth.obtaining import Pending, by_code, code_challenge, parse_callback, take_pending
from mcpclient.auth.options import OAuth
from mcpclient.errors import AuthError, AuthorizationDenied, AuthorizationRequired, UsageError
from tests.support.tables import each_row

from .world import SERVER, AuthorizationServerFake, World, grant_request, query_of

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


@each_row(
    ("metadata", "match"),
    [
        ({"code_challenge_methods_supported": None}, "does not offer PKCE"),
        ({"code_challenge_methods_supported": []}, "does not offer PKCE"),
        ({"code_challenge_methods_supported": ["plain"]}, "does not offer PKCE"),
        ({"authorization_endpoint": None}, "no authorization_endpoint"),
    ],
)
def test_a_server_without_pkce_is_refused(metadata: dict[str, object], match: str) -> None:
    """F-AUTH-3: absent means unsupported; the user is not asked and nothing registered."""
    world, fake = scene(metadata=metadata)
    with pytest.raises(AuthError, match=match):
        world.run(by_code(request(fake), OAuth()))
    assert not world.visited
    assert not world.fetched


@each_row("state", [None, "", "wrong", "é\udc80"])
def test_a_wrong_state_is_refused(state: str | None) -> None:
    """F-AUTH-3: the code goes nowhere, and the right answer may still come."""
    world, fake = scene()
    world.user = lambda sent: Callback(code="c", state=state, iss=fake.issuer)
    with pytest.raises(AuthError, match="belongs to no login that was begun here"):
        world.run(by_code(request(fake), OAuth()))
    assert not fake.token_forms
    assert KEY in world.store


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


def pending_after_leaving(world: World, fake: AuthorizationServerFake, **extra: Any) -> Authorize:
    world.user = world.no_user
    with pytest.raises(AuthorizationRequired):
        world.run(by_code(request(fake, **extra), OAuth()))
    return world.visited[-1]


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
    world.time += 3600
    last = pending_after_leaving(world, fake)
    with pytest.raises(AuthError):
        world.run(take_pending(SERVER, states[4], OAuth()))
    assert world.run(take_pending(SERVER, last.state, OAuth())).state == last.state


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


@each_row(
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


@each_row(
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
