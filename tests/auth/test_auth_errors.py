"""What the errors of authorization tell apart from their texts, which tests/test_errors.py has."""

from __future__ import annotations

from mcpclient.errors import (
    AuthorizationDenied,
    InsufficientScope,
    RegistrationRequired,
    TokenRequestFailed,
)


def test_errors_keep_their_facts() -> None:
    """F-AUTH-2, F-AUTH-4: nobody has to parse a message."""
    failed = TokenRequestFailed("invalid_grant", "used", 400)
    assert (failed.error, failed.description, failed.status) == ("invalid_grant", "used", 400)
    scope = InsufficientScope(["a"], ["b"])
    assert (scope.required, scope.requested) == (("a",), ("b",))
    denied = AuthorizationDenied("e", "d")
    assert (denied.error, denied.description) == ("e", "d")
    needed = RegistrationRequired("i", "r")
    assert (needed.issuer, needed.reason) == ("i", "r")
