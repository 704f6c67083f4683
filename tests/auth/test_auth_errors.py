from __future__ import annotations

import pytest

from mcpclient.errors import (
    AuthError,
    AuthorizationDenied,
    InsufficientScope,
    McpError,
    RegistrationRequired,
    TokenRequestFailed,
)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            AuthorizationDenied("access_denied", "ask her"),
            "authorization was not given: access_denied: ask her",
        ),
        (AuthorizationDenied("access_denied"), "authorization was not given: access_denied"),
        (
            RegistrationRequired("https://a.example?x=1", "it registers nobody"),
            "a client_id for https://a.example is needed: it registers nobody",
        ),
        (
            TokenRequestFailed("invalid_grant", "used", 400),
            "the authorization server gave no token (HTTP 400): invalid_grant: used",
        ),
        (
            TokenRequestFailed("invalid_grant", "", 400),
            "the authorization server gave no token (HTTP 400): invalid_grant",
        ),
        (
            InsufficientScope(["a", "b"], ["c"]),
            "the server wants the scopes: a b; asked for already: c",
        ),
        (
            InsufficientScope([], []),
            "the server wants the scopes: more than it names; asked for already: none by name",
        ),
    ],
)
def test_errors_say_what_happened(error: AuthError, text: str) -> None:
    """F-AUTH-4: told apart by class, read by fields, and one root for all."""
    assert str(error) == text
    assert isinstance(error, McpError)


def test_errors_keep_their_facts() -> None:
    """F-AUTH-2 F-AUTH-4: nobody has to parse a message."""
    failed = TokenRequestFailed("invalid_grant", "used", 400)
    assert (failed.error, failed.description, failed.status) == ("invalid_grant", "used", 400)
    scope = InsufficientScope(["a"], ["b"])
    assert (scope.required, scope.requested) == (("a",), ("b",))
    denied = AuthorizationDenied("e", "d")
    assert (denied.error, denied.description) == ("e", "d")
    needed = RegistrationRequired("i", "r")
    assert (needed.issuer, needed.reason) == ("i", "r")
