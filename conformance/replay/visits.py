"""Authorization in a replay: the user logs in as was recorded, without a browser."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any, Callable

import mcpclient
from conformance.auth_scenarios import Following

__all__ = ["authentication"]

REDIRECT = "http://127.0.0.1:50009/callback"

Visit = Callable[[str], Awaitable["str | None"]]
"""Takes the URL where the user is sent, and returns the one where that leads; None: nowhere."""


def authentication(auth: Mapping[str, Any] | None, client_name: str, visit: Visit) -> Any:
    """Return the ``auth=`` that a script wants."""
    if auth is None:
        return None
    options: dict[str, Any] = {"local_development": True, "trust_first_issuer": True}
    for name in ("client_id", "client_secret"):
        if name in auth:
            options[name] = auth[name]
    if "scope" in auth:
        options["scopes"] = auth["scope"].split()
    if auth["grant"] == "client_credentials":
        return mcpclient.ClientCredentials(store=mcpclient.MemoryStore(), **options)
    return mcpclient.OAuth(
        provider=_Visitor(visit),
        redirect_uri=REDIRECT,
        client_name=client_name,
        token_endpoint_auth_method="client_secret_post" if "client_secret" in auth else "none",
        **options,
    )


class _Visitor(Following):
    """An `AuthProvider` whose user goes where he was sent when it was recorded."""

    def __init__(self, visit: Visit) -> None:
        super().__init__()
        self._visit = visit

    async def authorize(self, request: mcpclient.Authorize) -> mcpclient.Callback | None:
        location = await self._visit(request.url)
        if location is None:
            raise mcpclient.AuthorizationDenied("the user says no to what was never recorded")
        return mcpclient.parse_callback(location)
