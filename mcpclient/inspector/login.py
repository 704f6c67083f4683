"""The login to a server: what is told of it, its end, and how it is finished by hand."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

from ..auth.authorization_code import parse_callback
from ..auth.grants import login_facts
from ..auth.url_guard import host_of
from ..client.client import Client
from ..client.connection.requests import connection_of
from ..client.login.forgetting import forget_variables
from ..client.login.runner import OAuthAuthorizer
from ..errors import AuthorizationRequired, UsageError
from ..net.clocks import seconds_since_epoch


def has_login(client: Client) -> bool:
    """Whether the client gets tokens by a login, or by credentials, and keeps them."""
    return _authorizer_of(client) is not None


async def described_login(client: Client, error: BaseException | None) -> dict[str, Any]:
    """Return what the page is told of a login, never a token.

    - ``login``: see `login_facts`; None: there is none.
    - ``visit`` and ``host``: the address that a user has to visit first, where ``error``, the
      reason why the client is not connected, names one that `finish_login` can go on from.
    """
    authorizer = _authorizer_of(client)
    grant = await authorizer.stored_grant() if authorizer is not None else None
    facts = login_facts(grant, seconds_since_epoch()) if grant is not None else None
    visit = error.url if isinstance(error, AuthorizationRequired) else ""
    if "state" not in parse_qs(urlsplit(visit).query):
        return {"login": facts, "visit": None, "host": None}
    return {"login": facts, "visit": visit, "host": host_of(visit)}


async def expect_login(client: Client) -> None:
    """Have the user asked again, even if a login was needed before and did not take place."""
    authorizer = _authorizer_of(client)
    if authorizer is not None:
        await authorizer.expect_login()


async def finish_login(client: Client, address: str) -> None:
    """Go on with a login, given the address that the browser ended at. Raises as `finish_auth`."""
    try:
        authorizer, callback = _needed(client), parse_callback(address)
    except UsageError as error:
        forget_variables(error)
        raise
    finally:
        del address  # so that no traceback holds it: see forget_variables
    await authorizer.finish(callback)


async def log_out(client: Client) -> None:
    """Forget the login, and revoke it where the server offers that. See `mcpclient.log_out`."""
    await _needed(client).log_out()


def _needed(client: Client) -> OAuthAuthorizer:
    authorizer = _authorizer_of(client)
    if authorizer is None:
        raise UsageError("there is no login to this server")
    return authorizer


def _authorizer_of(client: Client) -> OAuthAuthorizer | None:
    authorizer = connection_of(client).route.authorizer
    return authorizer if isinstance(authorizer, OAuthAuthorizer) else None
