"""Grants, which are tokens with the data to use, refresh and store them; and token requests."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

from ..errors import AuthError, UsageError
from . import effects
from .clients import RegisteredClient, authenticate
from .discovery import Discovery
from .effects import Flow, Response, StoredItem, parse_object, part_of, read_record
from .options import OAuthOptions
from .signing import DpopProver, Es256Key, wants_nonce
from .tokens import OFFLINE_ACCESS, TokenSet, parse_token_response, raise_for_error, token_set
from .url_guard import UrlPolicy, without_query

# Fields of a token request that no error may show.
_SECRET_FIELDS = frozenset(
    {
        *("assertion", "client_assertion", "client_secret", "code", "code_verifier"),
        *("device_code", "refresh_token", "subject_token", "token"),
    }
)

Form = Sequence[tuple[str, str]]

Keep = Callable[["Grant"], Flow[None]]
"""A function that stores a grant directly after the server's response."""

Terms = TypeVar("Terms", bound="GrantTerms")


@dataclass(frozen=True)
class GrantTerms:
    """The terms of a grant: all that its token requests need besides a code or a token.

    ``client.issuer`` is the only authorization server they are used with. ``resource``: the
    resource indicator to send. ``prover``: given when the tokens are to be bound to a key (DPoP).
    """

    client: RegisteredClient
    token_endpoint: str
    resource: str | None
    requested_scopes: tuple[str, ...]
    resource_metadata_url: str | None
    prover: DpopProver | None
    revocation_endpoint: str | None

    def to_record(self) -> dict[str, object]:
        """Return a JSON object, secrets included."""
        prover = self.prover
        values = {name: value for name, value in vars(self).items() if name != "prover"}
        for name, value in values.items():
            values[name] = [*value] if isinstance(value, tuple) else value
        key = None if prover is None else prover.key.to_secret()
        return {**values, "client": self.client.to_record(), "dpop_key": key}

    @classmethod
    def from_record(
        cls: type[Terms], record: StoredItem, options: OAuthOptions | None = None, **parts: object
    ) -> Terms | None:
        """Read a record of `to_record`, the ``parts`` already read, and the configured secrets."""
        client = RegisteredClient.from_record(part_of(record, "client"), options)
        key = record.get("dpop_key")
        try:
            prover = None if key is None else DpopProver(Es256Key.from_secret(str(key)))
        except UsageError:
            return None
        if client is None:
            return None
        return read_record(cls, record, client=client, prover=prover, **parts)

    def exchange(self, form: Form, policy: UrlPolicy, keep: Keep | None) -> Flow[Grant]:
        """Obtain a grant with one token request for ``form``, and store it with ``keep``."""

        def exchanged() -> Flow[Grant]:
            tokens = yield from self.request_tokens(form, policy, None)
            terms = {field.name: getattr(self, field.name) for field in fields(GrantTerms)}
            grant = Grant(**terms, tokens=tokens)
            if keep is not None:
                yield from keep(grant)
            return grant

        return (yield from effects.Shielded(exchanged()))

    def request_tokens(
        self, form: Form, policy: UrlPolicy, previous: TokenSet | None
    ) -> Flow[TokenSet]:
        """Request new tokens for ``form``; see `token_set` for ``previous``."""
        if self.resource is not None:
            form = [*form, ("resource", self.resource)]
        response = yield from self.request(form, policy)
        tokens = token_set(response, (yield from effects.Now()), previous)
        if self.prover is not None and tokens.token_type != "DPoP":
            raise AuthError("the authorization server did not bind the token to the key (DPoP)")
        if self.prover is None and tokens.token_type == "DPoP":
            raise AuthError("the authorization server bound the token to an unknown key (DPoP)")
        return tokens

    def request(self, form: Form, policy: UrlPolicy) -> Flow[Mapping[str, object]]:
        """Send ``form`` to the token endpoint and return the fields of the response.

        Where the server requires its nonce in the DPoP proof, the form is sent once more with it.
        Raises TokenRequestFailed; SsrfError when the guard forbids the endpoint.
        """
        url, prover = self.token_endpoint, self.prover
        response, secrets = yield from self.post(url, form, policy)
        if prover is not None and prover.note(response, url, for_resource=False):
            fields = parse_object(response.body) or {}
            if wants_nonce(response.status, fields.get("error")):
                response, secrets = yield from self.post(url, form, policy)
                prover.note(response, url, for_resource=False)
        return parse_token_response(response, secrets)

    def fields_of(self, url: str, form: Form, policy: UrlPolicy) -> Flow[Mapping[str, object]]:
        """Return what another endpoint than that for tokens answers. Raises TokenRequestFailed."""
        response, secrets = yield from self.post(url, form, policy)
        fields = parse_object(response.body) or {}
        raise_for_error(response, fields, secrets)
        return fields

    def post(self, url: str, form: Form, policy: UrlPolicy) -> Flow[tuple[Response, list[str]]]:
        """Return the response, and the values in the request that no error may show."""
        full_form = [*form]
        headers: dict[str, str] = {}
        yield from authenticate(self.client, full_form, headers)
        if self.prover is not None:
            headers["DPoP"] = yield from self.prover.proof("POST", url)
        secrets = [value for name, value in full_form if name in _SECRET_FIELDS]
        secrets += [value.rpartition(" ")[2] for value in headers.values()]
        if self.client.client_secret:
            secrets.append(self.client.client_secret)
        response = yield from effects.post(url, self.client.issuer, policy, headers, full_form)
        return response, secrets


@dataclass(frozen=True)
class Grant(GrantTerms):
    """Tokens of one client for one server, and the terms they were granted on.

    ``asked_scopes`` and ``asked_resource`` come from the options it was obtained with; None:
    the server's choice.
    """

    tokens: TokenSet
    asked_scopes: tuple[str, ...] | None = None
    asked_resource: str | None = None

    def to_record(self) -> dict[str, object]:
        """Return a JSON object, secrets included."""
        return {**super().to_record(), "tokens": self.tokens.to_record()}

    @classmethod
    def from_record(
        cls, record: StoredItem, options: OAuthOptions | None = None, **parts: object
    ) -> Grant | None:
        """Read a record of `to_record` as any terms are read; None when it is damaged."""
        tokens = TokenSet.from_record(part_of(record, "tokens"))
        grant = None if tokens is None else super().from_record(record, options, tokens=tokens)
        if grant is not None and grant.prover is None and grant.tokens.token_type == "DPoP":
            return None
        return grant

    def is_for(self, options: OAuthOptions) -> bool:
        """Whether its client and its authorization server match the options."""
        endpoints = options.endpoints
        return (
            options.client_id in (None, self.client.client_id)
            and options.issuer in (None, self.client.issuer)
            and (endpoints is None or endpoints.token_endpoint == self.token_endpoint)
        )

    def is_as_asked(self, options: OAuthOptions) -> bool:
        """Whether its scopes, resource and key match the options too.

        Two entries of one URL may ask for different ones; without scopes, any do.
        """
        scopes, resource = options.scopes, options.resource
        asked = self.requested_scopes if self.asked_scopes is None else self.asked_scopes
        if scopes is not None and {*asked, OFFLINE_ACCESS} != {*scopes, OFFLINE_ACCESS}:
            return False
        named = self.asked_resource if resource is None else self.resource
        return named == (resource or None) and (self.prover is not None or not options.dpop)


@dataclass(frozen=True)
class GrantRequest:
    """A request for a grant, whatever its grant type. For most fields see `GrantTerms`.

    ``server_name``: the name of the server, and the account there, in stored records.
    """

    server_url: str
    server_name: str
    discovery: Discovery
    scopes: tuple[str, ...]
    resource: str | None
    policy: UrlPolicy = field(repr=False)
    prover: DpopProver | None = None
    keep: Keep | None = field(default=None, repr=False)

    def terms(self, client: RegisteredClient) -> GrantTerms:
        """Return the terms of the grant that ``client`` wants."""
        server = self.discovery.server
        return GrantTerms(
            client=client,
            token_endpoint=server.token_endpoint,
            resource=self.resource,
            requested_scopes=self.scopes,
            resource_metadata_url=self.discovery.resource_metadata_url,
            prover=self.prover,
            revocation_endpoint=server.revocation_endpoint,
        )

    def obtain(self, client: RegisteredClient, form: list[tuple[str, str]]) -> Flow[Grant]:
        """Obtain and store a grant for ``form`` and the scopes. Raises as `GrantTerms.exchange`."""
        scopes = [("scope", " ".join(self.scopes))] if self.scopes else []
        return (yield from self.terms(client).exchange(form + scopes, self.policy, self.keep))


def refresh(grant: Grant, policy: UrlPolicy) -> Flow[Grant]:
    """Return the grant with fresh tokens; a rotated refresh token replaces the old one.

    Raises TokenRequestFailed, with the ``error`` "invalid_grant" for a refresh token that has
    become invalid, and AuthError when the grant has no refresh token.
    """
    token = grant.tokens.refresh_token
    if token is None:
        raise AuthError("the grant has no refresh token")
    form = [("grant_type", "refresh_token"), ("refresh_token", token)]
    return replace(grant, tokens=(yield from grant.request_tokens(form, policy, grant.tokens)))


def revoke(grant: Grant, policy: UrlPolicy) -> Flow[None]:
    """Revoke the tokens (RFC 7009 section 2.1) where the server has an endpoint for it."""
    if grant.revocation_endpoint is None:
        return
    tokens = grant.tokens
    # Revoking a refresh token revokes its access tokens as well (section 2.1).
    kind = "access_token" if tokens.refresh_token is None else "refresh_token"
    token = tokens.refresh_token or tokens.access_token
    form = [("token", token), ("token_type_hint", kind)]
    yield from grant.fields_of(grant.revocation_endpoint, form, policy)


def store_name(server_url: str) -> str:
    """Return the name of a server in stored records: its URL, its query (maybe a key) as a hash."""
    parts = urlsplit(server_url)
    query, account = parts.query, parts.fragment
    name = without_query(server_url)
    if query:
        name = f"{name}?{hashlib.sha256(query.encode()).hexdigest()[:16]}"
    return f"{name}#{account}" if account else name


def account_url(server_url: str, account: str | None) -> str:
    """Return the URL of a server with the account, which tells several logins there apart."""
    return f"{server_url}#{quote(account, safe='')}" if account else server_url


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
