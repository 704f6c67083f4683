"""Grants, which are tokens with the data to use, refresh and store them; and token requests."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote, urlsplit

from ..errors import AuthError, UsageError
from .challenge import OFFLINE_ACCESS
from .clients import RegisteredClient, authenticate
from .discovery import Discovery
from .effects import Flow, Response, StoredItem, now, parse_object, post, shielded
from .signing import DpopProver, Es256Key, Signer, wants_nonce
from .tokens import TokenSet, parse_token_response, raise_for_error, token_set
from .url_guard import UrlPolicy, without_query

# Fields of a token request that no error may show.
_SECRET_FIELDS = frozenset(
    {
        *("assertion", "client_assertion", "client_secret", "code", "code_verifier"),
        *("device_code", "refresh_token", "subject_token", "token"),
    }
)


@dataclass(frozen=True)
class TokenEndpoint:
    """A token endpoint: its URL, the issuer it belongs to, and the policy of the guard."""

    url: str
    issuer: str
    policy: UrlPolicy = field(repr=False)


def keep_nowhere(grant: Grant) -> Flow[None]:
    """Do not store the grant: only the caller gets it."""
    yield from ()


@dataclass(frozen=True)
class GrantRequest:
    """A request for a grant, whatever its grant type.

    ``resource``: the resource indicator to send, None for none. ``prover``: given when the tokens
    are to be bound to a key (DPoP). ``keep`` stores the grant, at once after the server's response.
    """

    server_url: str
    discovery: Discovery
    scopes: tuple[str, ...]
    resource: str | None
    policy: UrlPolicy = field(repr=False)
    prover: DpopProver | None = None
    keep: Callable[[Grant], Flow[None]] = field(default=keep_nowhere, repr=False)
    account: str | None = None

    @property
    def server_name(self) -> str:
        """The name of the server, and the account there, in stored records."""
        return store_name(account_url(self.server_url, self.account))

    @property
    def endpoint(self) -> TokenEndpoint:
        """The token endpoint of the authorization server."""
        server = self.discovery.server
        return TokenEndpoint(server.token_endpoint, server.issuer, self.policy)

    def obtain(
        self, client: RegisteredClient, form: Sequence[tuple[str, str]], *, name_scopes: bool = True
    ) -> Flow[Grant]:
        """Obtain a grant with one token request for ``form``, and store it with ``keep``.

        ``name_scopes=False`` is for a form with a code, which implies its scopes. Raises as
        `request_token` does, and AuthError when the token is not bound to a key as requested.
        """
        full_form = [*form]
        if self.scopes and name_scopes:
            full_form.append(("scope", " ".join(self.scopes)))
        if self.resource is not None:
            full_form.append(("resource", self.resource))
        return (yield from shielded(self._exchange(client, full_form)))

    def _exchange(self, client: RegisteredClient, form: Sequence[tuple[str, str]]) -> Flow[Grant]:
        fields = yield from request_token(self.endpoint, client, form, self.prover)
        tokens = token_set(fields, (yield from now()), None)
        _check_binding(tokens, self.prover)
        grant = Grant(
            client=client,
            tokens=tokens,
            token_endpoint=self.endpoint.url,
            resource=self.resource,
            requested_scopes=self.scopes,
            resource_metadata_url=self.discovery.resource_metadata_url,
            prover=self.prover,
            revocation_endpoint=self.discovery.server.revocation_endpoint,
        )
        yield from self.keep(grant)
        return grant


@dataclass(frozen=True)
class Grant:
    """Tokens of one client for one server, with all that a refresh needs.

    ``client.issuer`` is the authorization server they come from; they are used with no other.
    ``asked_scopes`` and ``asked_resource`` are those of the options it was obtained with; None:
    the server's choice.
    """

    client: RegisteredClient
    tokens: TokenSet
    token_endpoint: str
    resource: str | None
    requested_scopes: tuple[str, ...]
    resource_metadata_url: str | None = None
    prover: DpopProver | None = None
    revocation_endpoint: str | None = None
    asked_scopes: tuple[str, ...] | None = None
    asked_resource: str | None = None

    def to_record(self) -> dict[str, object]:
        """Return a JSON object, secrets included."""
        return {
            "client": self.client.to_record(),
            "tokens": self.tokens.to_record(),
            "token_endpoint": self.token_endpoint,
            "resource": self.resource,
            "requested_scopes": list(self.requested_scopes),
            "resource_metadata_url": self.resource_metadata_url,
            "dpop_key": None if self.prover is None else self.prover.key.to_secret(),
            "revocation_endpoint": self.revocation_endpoint,
            "asked_scopes": None if self.asked_scopes is None else list(self.asked_scopes),
            "asked_resource": self.asked_resource,
        }

    @classmethod
    def from_record(
        cls, record: StoredItem, *, secret: str | None = None, signer: Signer | None = None
    ) -> Grant | None:
        """Read a record of `to_record`; None when it is damaged.

        ``secret`` and ``signer`` are those the caller configured.
        """
        client = RegisteredClient.from_record(
            part_of(record, "client"), secret=secret, signer=signer
        )
        tokens = TokenSet.from_record(part_of(record, "tokens"))
        token_endpoint = string_of(record, "token_endpoint")
        if client is None or tokens is None or token_endpoint is None:
            return None
        try:
            prover = prover_from(record.get("dpop_key"))
        except UsageError:
            return None
        if prover is None and tokens.token_type == "DPoP":
            return None
        return cls(
            client=client,
            tokens=tokens,
            token_endpoint=token_endpoint,
            resource=string_of(record, "resource"),
            requested_scopes=strings_of(record, "requested_scopes") or (),
            resource_metadata_url=string_of(record, "resource_metadata_url"),
            prover=prover,
            revocation_endpoint=string_of(record, "revocation_endpoint"),
            asked_scopes=strings_of(record, "asked_scopes"),
            asked_resource=string_of(record, "asked_resource"),
        )

    def is_as_asked(
        self, scopes: Sequence[str] | None, resource: str | None, *, dpop: bool
    ) -> bool:
        """Whether it fits these options; without scopes, any fit.

        ``dpop``: only tokens that are bound to a key fit.
        """
        if scopes is not None:
            asked = self.requested_scopes if self.asked_scopes is None else self.asked_scopes
            if {*asked, OFFLINE_ACCESS} != {*scopes, OFFLINE_ACCESS}:
                return False
        if resource is None:
            is_same_resource = self.asked_resource is None
        else:
            is_same_resource = self.resource == (resource or None)
        return is_same_resource and (self.prover is not None or not dpop)


def prover_from(secret: object) -> DpopProver | None:
    """Return the prover with the key in a record; None for none. Raises UsageError if damaged."""
    return DpopProver(Es256Key.from_secret(secret)) if isinstance(secret, str) else None


def refresh(grant: Grant, policy: UrlPolicy) -> Flow[Grant]:
    """Return the grant with fresh tokens; a rotated refresh token replaces the old one.

    Raises TokenRequestFailed, with the ``error`` "invalid_grant" for a refresh token that is no
    longer valid, and AuthError when the grant has no refresh token.
    """
    if grant.tokens.refresh_token is None:
        raise AuthError("the grant has no refresh token")
    form = [("grant_type", "refresh_token"), ("refresh_token", grant.tokens.refresh_token)]
    if grant.resource is not None:
        form.append(("resource", grant.resource))
    endpoint = TokenEndpoint(grant.token_endpoint, grant.client.issuer, policy)
    fields = yield from request_token(endpoint, grant.client, form, grant.prover)
    tokens = token_set(fields, (yield from now()), grant.tokens)
    _check_binding(tokens, grant.prover)
    return replace(grant, tokens=tokens)


def revoke(grant: Grant, policy: UrlPolicy) -> Flow[None]:
    """Revoke the tokens at the authorization server (RFC 7009 section 2.1).

    Does nothing where it has no revocation endpoint. Raises TokenRequestFailed when it refuses,
    SsrfError when the guard forbids the endpoint.
    """
    if grant.revocation_endpoint is None:
        return
    tokens = grant.tokens
    # Revoking a refresh token revokes its access tokens as well (section 2.1).
    kind = "access_token" if tokens.refresh_token is None else "refresh_token"
    token = tokens.refresh_token or tokens.access_token
    form = [("token", token), ("token_type_hint", kind)]
    endpoint = TokenEndpoint(grant.revocation_endpoint, grant.client.issuer, policy)
    response, secrets = yield from _post_form(endpoint, grant.client, form, grant.prover)
    raise_for_error(response, parse_object(response.body) or {}, secrets)


def request_token(
    endpoint: TokenEndpoint,
    client: RegisteredClient,
    form: Sequence[tuple[str, str]],
    prover: DpopProver | None,
) -> Flow[Mapping[str, object]]:
    """Send ``form`` to a token endpoint and return the fields of the response.

    Where the server requires its nonce in the DPoP proof, the form is sent once more with it.
    Raises TokenRequestFailed; SsrfError when the guard forbids the endpoint.
    """
    response, secrets = yield from _post_form(endpoint, client, form, prover)
    if prover is not None and prover.note(response, endpoint.url, for_resource=False):
        fields = parse_object(response.body) or {}
        if wants_nonce(response.status, fields.get("error")):
            response, secrets = yield from _post_form(endpoint, client, form, prover)
            prover.note(response, endpoint.url, for_resource=False)
    return parse_token_response(response, secrets)


def _post_form(
    endpoint: TokenEndpoint,
    client: RegisteredClient,
    form: Sequence[tuple[str, str]],
    prover: DpopProver | None,
) -> Flow[tuple[Response, list[str]]]:
    """Return the response, and the values in the request that no error may show."""
    full_form = [*form]
    headers: dict[str, str] = {}
    yield from authenticate(client, full_form, headers)
    if prover is not None:
        headers["DPoP"] = yield from prover.proof("POST", endpoint.url)
    secrets = [value for name, value in full_form if name in _SECRET_FIELDS]
    secrets += [value.rpartition(" ")[2] for value in headers.values()]
    if client.client_secret:
        secrets.append(client.client_secret)
    response = yield from post(endpoint.url, endpoint.issuer, endpoint.policy, headers, full_form)
    return response, secrets


def _check_binding(tokens: TokenSet, prover: DpopProver | None) -> None:
    if prover is not None and tokens.token_type != "DPoP":
        raise AuthError("the authorization server did not bind the token to the key (DPoP)")
    if prover is None and tokens.token_type == "DPoP":
        raise AuthError("the authorization server bound the token to an unknown key (DPoP)")


def store_name(server_url: str) -> str:
    """Return the name of a server in stored records: its URL, with a hash of its query.

    The query itself may contain a key. The part that `account_url` has added stays.
    """
    parts = urlsplit(server_url)
    query, account = parts.query, parts.fragment
    name = without_query(server_url)
    if query:
        name = f"{name}?{hashlib.sha256(query.encode()).hexdigest()[:16]}"
    return f"{name}#{account}" if account else name


def account_url(server_url: str, account: str | None) -> str:
    """Return the URL of a server with the account, which tells several logins there apart."""
    return f"{server_url}#{quote(account, safe='')}" if account else server_url


def part_of(record: StoredItem, name: str) -> StoredItem:
    """Return the record inside a record; an empty one for anything else."""
    value = record.get(name)
    return value if isinstance(value, Mapping) else {}


def string_of(record: StoredItem, name: str) -> str | None:
    """Return the string in a record; None for anything else."""
    value = record.get(name)
    return value if isinstance(value, str) else None


def login_facts(grant: Grant, now: float) -> dict[str, Any]:
    """Describe the login that gave ``grant`` as a JSON object without secrets.

    ``expiresAt``: seconds since the epoch, None where the server did not say. ``scopes``: those
    granted or, where the server did not say, those requested. ``now``: seconds since the epoch.
    """
    tokens = grant.tokens
    if tokens.refresh_token is not None:
        state = "logged in, renewed as needed"
    else:
        state = "expired" if tokens.has_expired(now) else "logged in"
    return {
        "issuer": grant.client.issuer,
        "clientId": grant.client.client_id,
        "state": state,
        "expiresAt": tokens.expires_at,
        "renewable": tokens.refresh_token is not None,
        "scopes": list(tokens.scopes or grant.requested_scopes),
    }


def strings_of(record: StoredItem, name: str) -> tuple[str, ...] | None:
    """Return the list of strings in a record; None for anything else."""
    value = record.get(name)
    return tuple(map(str, value)) if isinstance(value, (list, tuple)) else None
