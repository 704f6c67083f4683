from __future__ import annotations

from mcpclient.auth.discovery import AuthorizationServer, Discovery, ProtectedResource
from mcpclient.auth.obtaining import scopes_for
from mcpclient.auth.options import OAuth, OAuthOptions, WorkloadIdentity
from mcpclient.auth.tokens import AuthorizationChallenge, parse_scope, union


def select(
    challenged: tuple[str, ...] | None = None,
    configured: tuple[str, ...] | None = None,
    resource: tuple[str, ...] | None = None,
    server: tuple[str, ...] | None = None,
    held: tuple[str, ...] = (),
    refresh: bool = True,
) -> tuple[str, ...]:
    options: OAuthOptions = OAuth(scopes=configured)
    if not refresh:
        options = WorkloadIdentity("https://a.example", assertion="jwt", scopes=configured)
    found = Discovery(
        AuthorizationServer(
            "https://a.example", "https://a.example/token", scopes_supported=server
        ),
        ProtectedResource("https://r.example", ("https://a.example",), resource),
    )
    return scopes_for(options, found, AuthorizationChallenge(scopes=challenged), held)


def test_the_challenge_comes_first() -> None:
    """F-AUTH-4: challenge, else metadata, else none."""
    assert select(challenged=("a",), resource=("b", "c")) == ("a",)
    assert select(resource=("b", "c")) == ("b", "c")
    assert select() == ()
    assert select(challenged=(), resource=("b",)) == ()


def test_configured_scopes_replace_the_metadatas() -> None:
    """F-AUTH-4: and a challenge is still obeyed."""
    assert select(configured=("mine",), resource=("b",)) == ("mine",)
    assert select(challenged=("a",), configured=("mine",)) == ("a", "mine")


def test_step_up_is_a_union() -> None:
    """F-AUTH-4: what was asked for before is kept."""
    assert select(challenged=("write",), held=("read",)) == ("read", "write")


def test_offline_access_is_asked_for_where_it_is_offered() -> None:
    """F-AUTH-4: only where the authorization server lists it, and a refresh token is wanted."""
    assert select(("a",), server=("a", "offline_access")) == ("a", "offline_access")
    assert select(("a",), server=("a", "offline_access"), refresh=False) == ("a",)
    assert select(("a",), server=("a",)) == ("a",)
    assert select(resource=("a", "offline_access"), server=("a",)) == ("a",)
    assert select(("a", "offline_access"), server=None) == ("a", "offline_access")


def test_offline_access_that_was_named_is_asked_for() -> None:
    """F-AUTH-4: a challenge says what is needed, whatever the authorization server lists."""
    named = ("a", "offline_access")
    assert select(challenged=named, server=("a",)) == named
    assert select(configured=named, server=("a",)) == named
    assert select(("write",), held=named, server=("a",)) == (*named, "write")
    assert select(challenged=named, server=("a",), refresh=False) == named


def test_offline_access_never_stands_alone() -> None:
    """F-AUTH-4: no scope means the server's default scopes, which it would replace."""
    assert select(server=("offline_access",)) == ()


def test_scopes_are_taken_apart_with_care() -> None:
    """F-AUTH-4: what cannot be a scope is dropped, and there is an end to it."""
    assert parse_scope('a b\ta  c"d é \\ e') == ("a", "b", "e")
    assert parse_scope("x" * 257) == ()
    assert len(union(map(str, range(1000)))) == 200
