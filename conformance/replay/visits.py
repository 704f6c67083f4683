"""Authorization in a replay: the user logs in as was recorded, without a browser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcpclient
from conformance.situation import Browser, Following

__all__ = ["authentication"]


class _Elsewhere(Following):
    """The code is entered on another device, at once."""

    async def show_device_code(self, request: mcpclient.ShowDeviceCode) -> None:
        pass


REDIRECT = "http://127.0.0.1:50009/callback"


def authentication(auth: Mapping[str, Any] | None, client_name: str, visit: Browser) -> Any:
    """Return the ``auth=`` that a script wants."""
    if auth is None:
        return None
    if auth["grant"] == "key":
        return mcpclient.ApiKey(lambda: auth["value"])
    if auth["grant"] == "bearer":
        return mcpclient.BearerToken(lambda: auth["value"])
    options: dict[str, Any] = {
        **{"local_development": True, "trust_first_issuer": True},
        **auth.get("options", {}),
    }
    for name in ("client_id", "client_secret", "device"):
        if name in auth:
            options[name] = auth[name]
    if "scope" in auth:
        options["scopes"] = auth["scope"].split()
    if "endpoints" in options:
        options["endpoints"] = mcpclient.Endpoints(**options["endpoints"])
    if auth["grant"] == "workload":
        store = mcpclient.MemoryStore()
        return mcpclient.WorkloadIdentity(assertion=auth["value"], store=store, **options)
    if auth["grant"] == "enterprise":
        provider = mcpclient.IdentityProvider(
            identity_assertion=auth["value"], **options.pop("provider")
        )
        store = mcpclient.MemoryStore()
        return mcpclient.EnterpriseManaged(identity_provider=provider, store=store, **options)
    if auth["grant"] == "client_credentials":
        return mcpclient.ClientCredentials(store=mcpclient.MemoryStore(), **options)
    return mcpclient.OAuth(
        provider=_Elsewhere(visit),
        redirect_uri=REDIRECT,
        client_name=client_name,
        token_endpoint_auth_method="client_secret_post" if "client_secret" in auth else "none",
        **options,
    )
