"""The errors of logins, below `AuthError`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..display import shown_url
from .root import AuthError


class AuthorizationRequired(AuthError):
    """A human has to visit ``url`` before this server can be used.

    Fields: ``url`` to visit. Its text never shows the query, which holds one-time values.
    """

    def __init__(self, url: str) -> None:
        self.args: tuple[Any, ...] = (shown_url(url),)
        self.url = url

    def __str__(self) -> str:
        return f"authorization is required at {shown_url(self.url)}"


class AuthorizationDenied(AuthError):
    """The authorization server sent the user back with an error instead of a code.

    Fields: ``error`` (a code of RFC 6749 section 4.1.2.1, "access_denied" when the user said no)
    and ``description``, the server's words.
    """

    def __init__(self, error: str, description: str = "") -> None:
        self.error = error
        self.description = description

    def __str__(self) -> str:
        text = f"authorization was not given: {self.error}"
        return f"{text}: {self.description}" if self.description else text


class RegistrationRequired(AuthError):
    """The authorization server does not know this client, and there is no way to register.

    Fields: ``issuer`` and ``reason``. Ask its operator for a client and give its ``client_id``.
    """

    def __init__(self, issuer: str, reason: str) -> None:
        self.args: tuple[Any, ...] = (shown_url(issuer), reason)
        self.issuer = issuer
        self.reason = reason

    def __str__(self) -> str:
        return f"a client_id for {shown_url(self.issuer)} is needed: {self.reason}"


class TokenRequestFailed(AuthError):
    """The authorization server refused a request for a token.

    Fields: ``error`` (a code of RFC 6749 section 5.2, or "invalid_response" for an answer that
    is not one of OAuth), ``description`` (the server's words, without secrets) and the HTTP
    ``status``.
    """

    def __init__(self, error: str, description: str, status: int) -> None:
        self.error = error
        self.description = description
        self.status = status

    def __str__(self) -> str:
        text = f"the authorization server gave no token (HTTP {self.status}): {self.error}"
        return f"{text}: {self.description}" if self.description else text

    @property
    def is_refusal(self) -> bool:
        """Whether the authorization server has rejected the credentials for good.

        Otherwise it has failed, or a captive portal, a firewall or a gateway has answered in its
        place; then the same credentials may work again later.
        """
        if self.status in (408, 429) or self.status >= 500:
            return False
        if self.error == "invalid_response":  # there is no error code of OAuth in it
            return self.status in (400, 401)
        return self.error not in ("server_error", "temporarily_unavailable")


class InsufficientScope(AuthError):
    """The server asks for scopes that were already requested, so asking again would not help.

    Fields: ``required``, the scopes the server named, and ``requested``, those asked for before.
    """

    def __init__(self, required: Sequence[str], requested: Sequence[str]) -> None:
        self.required: tuple[str, ...] = tuple(required)
        self.requested: tuple[str, ...] = tuple(requested)

    def __str__(self) -> str:
        required = " ".join(self.required) or "more than it names"
        requested = " ".join(self.requested) or "none by name"
        return f"the server wants the scopes: {required}; asked for already: {requested}"


class SsrfError(AuthError):
    """A URL that a server named points to a place a client must not be sent to.

    Fields: ``url`` and ``reason``.
    """

    def __init__(self, url: str, reason: str) -> None:
        self.args: tuple[Any, ...] = (shown_url(url), reason)
        self.url = url
        self.reason = reason

    def __str__(self) -> str:
        return f"refused to follow {shown_url(self.url)}: {self.reason}"
