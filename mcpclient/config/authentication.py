"""The ``oauth`` or ``auth`` of an entry as a value of ``auth=``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..auth.options import BearerToken, Endpoints, EnterpriseManaged, IdentityProvider, OAuth
from ..errors import AuthError, UsageError
from .shapes.values import EntryError, kind_of_value

# What applications call the options of `OAuth`.
_TEXTS = {
    "client_id": ("clientId", "client_id", "CLIENT_ID"),
    "client_secret": ("clientSecret", "client_secret", "CLIENT_SECRET"),
    "client_name": ("clientName", "client_name"),
    "redirect_uri": ("redirectUri", "redirect_uri"),
    "issuer": ("issuer",),
    "resource": ("resource",),
    "account": ("account",),
}
_ENDPOINTS = {
    "token_endpoint": ("tokenUrl", "tokenEndpoint", "token_endpoint"),
    "authorization_endpoint": (
        "authorizationUrl",
        "authorizationEndpoint",
        "authorization_endpoint",
    ),
}


def authentication_of(
    given: Mapping[str, Any] | str,
    field: str,
    expand: Callable[[str], str],
    identity_provider: IdentityProvider | None = None,
) -> OAuth | BearerToken | EnterpriseManaged:
    """Return what identifies the user. ``given`` is an object of options, "oauth", or a token.

    ``expand`` puts the values of variables into a text. ``identity_provider``: the enterprise's,
    for entries that say ``"xaa": true``. Raises `EntryError`.
    """
    if isinstance(given, str):
        return OAuth() if given.lower() == "oauth" else BearerToken(expand(given))
    token = given.get("token")
    if isinstance(token, str):
        return BearerToken(expand(token))
    try:
        options = _options(given, field, expand)
        if given.get("xaa") is not True:
            return OAuth(**options)
        if identity_provider is None:
            raise EntryError(
                "the enterprise's identity provider is not known",
                field,
                "xaa",
                hint="give it: load_config(identity_provider=…)",
            )
        _require_issuer(options, field)
        return EnterpriseManaged(identity_provider=identity_provider, **options)
    except (UsageError, TypeError) as error:
        reason = str(error) if isinstance(error, UsageError) else "an option does not fit xaa"
        raise EntryError(reason, field) from None
    except AuthError:  # its text would show a value
        raise EntryError("one of its URLs is not a URL", field) from None


def _options(given: Mapping[str, Any], field: str, expand: Callable[[str], str]) -> dict[str, Any]:
    options: dict[str, Any] = _texts(given, _TEXTS, field, expand)
    scopes = given.get("scopes", given.get("scope"))
    if scopes is not None:
        scopes = scopes.split() if isinstance(scopes, str) else scopes
        if not isinstance(scopes, list) or not all(isinstance(scope, str) for scope in scopes):
            raise EntryError("has to be a list of texts", field, "scopes")
        options["scopes"] = tuple(expand(scope) for scope in scopes)
    port = given.get("callbackPort")
    if isinstance(port, int) and not isinstance(port, bool) and "redirect_uri" not in options:
        options["redirect_uri"] = f"http://localhost:{port}/callback"
    endpoints = _texts(given, _ENDPOINTS, field, expand)
    if "token_endpoint" in endpoints:
        options["endpoints"] = Endpoints(**endpoints)
    if given.get("trustFirstIssuer") is True:
        options["trust_first_issuer"] = True
    if "client_secret" in options:
        _require_issuer(options, field)
    return options


def _require_issuer(options: Mapping[str, Any], field: str) -> None:
    """A secret goes to no issuer that only the server names, unless the entry says so."""
    if not options.keys() & {"issuer", "endpoints", "trust_first_issuer"}:
        raise EntryError(
            "it is not said which authorization server may see the secret",
            field,
            "issuer",
            hint='add "issuer": "https://…", or "trustFirstIssuer": true to trust the first one',
        )


def _texts(
    given: Mapping[str, Any],
    names: Mapping[str, tuple[str, ...]],
    field: str,
    expand: Callable[[str], str],
) -> dict[str, str]:
    found = {}
    for option, spellings in names.items():
        for spelling in spellings:
            value = given.get(spelling)
            if value is None or value == "":
                continue
            if not isinstance(value, str):
                raise EntryError(f"has to be a text, not {kind_of_value(value)}", field, spelling)
            found[option] = expand(value)
    return found
