"""The grant of one server: obtained, renewed, replaced and forgotten, all decided without I/O.

One `Authorization` serves one server for as long as a client lives. Each HTTP request to the server
takes an `AuthorizedRequest` from it: it is sent with its ``headers``, and again for as long as
``recover`` is true of the response. Every change of stored credentials happens under one lock, and
loads them from the store first. So when the token of many tasks and processes expires, one of them
refreshes it and the others use the new one.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Literal, cast

from ..display import shown_url
from ..errors import AuthError, NetworkError, negotiated_scheme
from ..errors.authorization import InsufficientScope, TokenRequestFailed
from . import effects
from .clients import bind, bound, check_binding, forget_registration, unbind
from .discovery import Discovery, discover
from .effects import Callback, Flow, Response
from .grants import Grant, GrantRequest, account_url, refresh, store_name
from .obtaining import (
    finish,
    forget_pending,
    needs_dpop,
    obtain,
    resource_for,
    scopes_for,
    take_pending,
)
from .options import OAuth, OAuthOptions, WorkloadIdentity
from .signing import DpopProver, Es256Key, wants_nonce
from .tokens import AuthorizationChallenge, read_challenge, union
from .url_guard import UrlPolicy, origin_of, without_query

# Any request works, since only its refusal matters. A ping is harmless if it is not refused.
_PROBE = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
_PROBE_HEADERS = {
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
}
_MAX_PROBE_BODY = 64 * 1024

# The most repetitions of one request, and those for more scopes, each of which may need the user.
_MAX_RECOVERIES = 5
_MAX_STEP_UPS = 2

_KINDS = ("OAuth", "ClientCredentials", "EnterpriseManaged", "WorkloadIdentity")


def grant_key(kind: str, server_name: str) -> str:
    """Return the key of a server's grant in a store; ``kind``: the class of its options."""
    return f"grant {kind} {server_name}"


# The reason to send a request again: with tokens that another task or process had already obtained,
# that the refresh token gave, or that a new grant did; with more scopes, or with a nonce (DPoP).
Recovery = Literal["adopted", "refreshed", "obtained", "stepped up", "nonce"]


class Authorization:
    """The authorization of one server by OAuth. Tokens go only to the origin of ``server_url``.

    ``protocol_version`` is sent with every request for metadata.
    """

    def __init__(
        self, server_url: str, options: OAuthOptions, *, protocol_version: str | None = None
    ) -> None:
        self.server_url = server_url
        self.options = options
        self.policy: UrlPolicy = options.url_policy(server_url)
        self._protocol_version = protocol_version
        self.account_url: str = account_url(server_url, options.account)
        self._name = store_name(self.account_url)
        self.key: str = grant_key(type(options).__name__, self._name)
        self._grant: Grant | None = None
        self._loaded = False
        self._prover: DpopProver | None = None
        self._refusal: TokenRequestFailed | None = None

    def __repr__(self) -> str:
        return f"Authorization({shown_url(self.server_url)!r})"

    def request(self, method: str, url: str) -> AuthorizedRequest:
        """Return the authorization of one HTTP request to ``url``."""
        return AuthorizedRequest(self, method, url)

    def current_grant(self) -> Flow[Grant | None]:
        """Return the grant to use now, renewed if due; None without one. Raises as `log_in`."""
        if not self._loaded:
            stored = yield from self.stored_grant()
            if not self._loaded:  # another request may have loaded a newer one meanwhile
                self._adopt(stored)
        grant = self._grant
        if grant is None or grant.tokens.renew_at is None:
            return grant
        time = yield from effects.Now()
        if not self._should_renew(grant, time):
            return grant
        return (yield from effects.Exclusive(self.key, self._renew()))

    def stored_grant(self) -> Flow[Grant | None]:
        """Return the grant in the store, expired or not; None when there is none as asked for."""
        grant = yield from self._known_grant()
        return grant if grant is not None and grant.is_as_asked(self.options) else None

    def _known_grant(self) -> Flow[Grant | None]:
        grant = Grant.from_record((yield from effects.Load(self.key)) or {}, self.options)
        return grant if grant is not None and grant.is_for(self.options) else None

    def probe(self) -> Flow[Response | None]:
        """Return how the server refuses a request without credentials; None if it does not."""
        url, policy = self.server_url, self.policy
        probe = effects.Fetch("POST", url, _PROBE_HEADERS, _PROBE, policy, _MAX_PROBE_BODY)
        response = cast(Response, (yield probe))
        return response if response.status == 401 else None

    def log_in(self, refusal: Response | None = None) -> Flow[None]:
        """Get a new grant, even if there is one already.

        ``refusal``: the response to a request without credentials, which names the metadata and
        scopes; without it the well-known URLs are tried. Raises AuthorizationRequired,
        AuthorizationDenied, RegistrationRequired, TokenRequestFailed, SsrfError and AuthError.
        """
        fields = [] if refusal is None else refusal.header_values("www-authenticate")
        yield from effects.Exclusive(self.key, self._obtain(read_challenge(fields), None))

    def log_out(self) -> Flow[Grant | None]:
        """Forget all grants, unfinished logins and bindings; return the grant, for `revoke`."""
        return (yield from effects.Exclusive(self.key, self._log_out()))

    def finish(self, callback: Callback) -> Flow[None]:
        """Continue an authorization begun earlier, perhaps in another process."""
        yield from effects.Exclusive(self.key, self._finish(callback))

    # The methods below run under the lock, as part of an exclusive flow.

    def _renew(self) -> Flow[Grant | None]:
        stored = yield from self.stored_grant()
        self._adopt(stored)
        time = yield from effects.Now()
        if stored is None or not self._should_renew(stored, time):
            return stored
        try:
            renewed = yield from self._try_refresh(stored)
            if renewed is not None:
                return renewed
            challenge = AuthorizationChallenge(
                resource_metadata=stored.resource_metadata_url, dpop_only=stored.prover is not None
            )
            yield from self._obtain(challenge, stored)
        except (TokenRequestFailed, NetworkError):
            # Renewal is early: a valid token may be used while the authorization server fails.
            if self._grant is None or stored.tokens.has_expired(time):
                raise
        return self._grant

    def replace_rejected(
        self, sent: Grant | None, challenge: AuthorizationChallenge, *, may_refresh: bool
    ) -> Flow[Recovery]:
        """Get other tokens after a 401 for a request that carried ``sent``."""
        stored = yield from self.stored_grant()
        time = yield from effects.Now()
        if stored is not None and _differs(stored, sent) and not stored.tokens.has_expired(time):
            self._adopt(stored)
            return "adopted"
        discovery, stored, held = yield from self._discover(challenge, stored)
        if stored is not None and may_refresh and (yield from self._try_refresh(stored)):
            return "refreshed"
        yield from self._forget()
        yield from self._obtain_from(discovery, challenge, held)
        return "obtained"

    def step_up(self, sent: Grant | None, challenge: AuthorizationChallenge) -> Flow[Recovery]:
        """Get tokens with more scopes after a 403. Raises InsufficientScope."""
        stored = yield from self.stored_grant()
        if stored is not None and _differs(stored, sent):
            self._adopt(stored)
            return "stepped up"
        discovery, stored, held = yield from self._discover(challenge, stored)
        if stored is not None:
            held = union(held, stored.tokens.scopes or ())
            wanted = scopes_for(self.options, discovery, challenge, held)
            if set(wanted) <= set(held):
                raise InsufficientScope(challenge.scopes or (), held)
        yield from self._obtain_from(discovery, challenge, held)
        return "stepped up"

    def _finish(self, callback: Callback) -> Flow[None]:
        if not isinstance(self.options, OAuth):
            raise AuthError("only a user's authorization is finished with a code")
        pending = yield from take_pending(self._name, callback.state, self.options)
        issuer = pending.client.issuer
        if self.options.issuer not in (None, issuer):
            raise AuthError(f"the login was begun with {without_query(issuer)}; log in again")
        yield from check_binding(self.options, self._name, issuer)
        yield from finish(pending, callback, self.policy, self._keep)

    def _log_out(self) -> Flow[Grant | None]:
        grant = yield from self._known_grant()
        for kind in _KINDS:
            yield from effects.Save(grant_key(kind, self._name), None)
        self._adopt(None)
        yield from unbind(self.options, self._name)
        yield from forget_pending(self._name)
        return grant

    def _obtain(self, challenge: AuthorizationChallenge, stored: Grant | None) -> Flow[None]:
        discovery, _, held = yield from self._discover(challenge, stored)
        yield from self._obtain_from(discovery, challenge, held)

    def _obtain_from(
        self, discovery: Discovery, challenge: AuthorizationChallenge, held: tuple[str, ...]
    ) -> Flow[None]:
        if self._refusal is not None:
            raise self._refusal.again()
        uses_dpop = needs_dpop(self.options, discovery, challenge)
        request = GrantRequest(
            server_url=self.server_url,
            server_name=self._name,
            discovery=discovery,
            scopes=scopes_for(self.options, discovery, challenge, held),
            resource=resource_for(self.options, discovery, self.server_url),
            policy=self.policy,
            prover=(yield from self._the_prover()) if uses_dpop else None,
            keep=self._keep,
        )
        try:
            yield from bound(
                self.options, self._name, discovery.server.issuer, obtain(request, self.options)
            )
        except TokenRequestFailed as error:
            if error.error in ("invalid_client", "unauthorized_client"):
                yield from forget_registration(discovery.server.issuer)
            is_fixed = isinstance(self.options, WorkloadIdentity) and isinstance(
                self.options.assertion, str
            )
            if is_fixed and error.is_refusal:  # it would be refused again, and is not sent again
                self._refusal = error
            raise

    def _try_refresh(self, grant: Grant) -> Flow[Grant | None]:
        """Refresh and store the grant; None when it has no valid refresh token."""
        if grant.tokens.refresh_token is None:
            return None
        try:
            return (yield from effects.Shielded(self._refresh(grant)))
        except TokenRequestFailed as error:
            if not error.is_refusal:  # the refresh token may still be valid
                raise
            if error.error in ("invalid_client", "unauthorized_client"):
                yield from forget_registration(grant.client.issuer)
            yield from self._forget()
            return None

    def _refresh(self, grant: Grant) -> Flow[Grant]:
        renewed = yield from refresh(grant, self.policy)
        yield from self._store(renewed)
        return renewed

    def _discover(
        self, challenge: AuthorizationChallenge, stored: Grant | None
    ) -> Flow[tuple[Discovery, Grant | None, tuple[str, ...]]]:
        """Find the authorization server; return ``stored`` and its scopes too if it is its grant.

        Nothing is cached: after a 401 the server may have another authorization server.
        """
        discovery = yield from discover(
            self.server_url,
            self.options,
            self.policy,
            resource_metadata_url=challenge.resource_metadata,
            protocol_version=self._protocol_version,
        )
        if stored is None or stored.client.issuer != discovery.server.issuer:
            return discovery, None, ()
        return discovery, stored, stored.requested_scopes

    def _the_prover(self) -> Flow[DpopProver]:
        if self._prover is None:
            self._prover = DpopProver(Es256Key.from_random((yield from effects.RandomBytes(48))))
        return self._prover

    def _should_renew(self, grant: Grant, time: float) -> bool:
        # Where only a login can renew it, the user is not asked before it has expired.
        needs_user = grant.tokens.refresh_token is None and isinstance(self.options, OAuth)
        return grant.tokens.has_expired(time) if needs_user else grant.tokens.should_renew(time)

    def _adopt(self, grant: Grant | None) -> None:
        self._loaded = True
        self._grant = grant
        if grant is not None and grant.prover is not None:
            self._prover = grant.prover

    def _keep(self, grant: Grant) -> Flow[None]:
        scopes = self.options.scopes
        asked = replace(
            grant,
            asked_scopes=None if scopes is None else tuple(scopes),
            asked_resource=self.options.resource,
        )
        yield from bind(self.options, self._name, grant.client.issuer)
        yield from self._store(asked)

    def _store(self, grant: Grant) -> Flow[None]:
        yield from effects.Save(self.key, grant.to_record())
        self._adopt(grant)

    def _forget(self) -> Flow[None]:
        yield from effects.Save(self.key, None)
        self._adopt(None)


def _differs(grant: Grant, sent: Grant | None) -> bool:
    return sent is None or grant.tokens.access_token != sent.tokens.access_token


class AuthorizedRequest:
    """The authorization of one HTTP request and its retries."""

    def __init__(self, owner: Authorization, method: str, url: str) -> None:
        self._owner = owner
        self._method = method
        self._url = url
        self._sent: Grant | None = None
        self._recoveries: list[Recovery] = []

    def headers(self, url: str | None = None) -> Flow[dict[str, str]]:
        """Return the headers to send now, to ``url`` after a redirect; call it for every sending.

        Empty while there is no grant, and for any other origin than the server's. Raises as
        `Authorization.log_in` when a grant has ended and cannot be refreshed.
        """
        if url is not None:
            self._url = url
        if not self._is_for_server:
            return {}
        grant = yield from self._owner.current_grant()
        self._sent = grant
        if grant is None:
            return {}
        token = grant.tokens.access_token
        if grant.prover is None:
            return {"Authorization": f"Bearer {token}"}
        proof = yield from grant.prover.proof(self._method, self._url, token)
        return {"Authorization": f"DPoP {token}", "DPoP": proof}

    @property
    def _is_for_server(self) -> bool:
        return origin_of(self._url) == self._owner.policy.server_origin

    def recover(self, response: Response) -> Flow[bool]:
        """Get other tokens after a refusal; True when the request should be sent again.

        False for responses that are not about authorization, or come from other origins. Raises
        InsufficientScope when no scope would help, AuthError when new tokens are refused too, and
        as `Authorization.log_in` does.
        """
        fields = response.header_values("www-authenticate")
        if negotiated_scheme(", ".join(fields)):  # Kerberos or NTLM: an OAuth token would not help
            return False
        prover = None if self._sent is None else self._sent.prover
        # Any response may carry the nonce for the next request (RFC 9449 section 8.2).
        has_nonce = prover is not None and prover.note(response, self._url, for_resource=True)
        challenge = read_challenge(fields)
        lacks_scope = response.status == 403 and challenge.error == "insufficient_scope"
        if not self._is_for_server or not (response.status == 401 or lacks_scope):
            return False
        made = self._recoveries
        if len(made) == _MAX_RECOVERIES:
            raise AuthError(
                f"{shown_url(self._url)} refuses every token; it may need another resource="
            )
        if has_nonce and wants_nonce(response.status, challenge.error):
            made.append("nonce")
            return True
        owner = self._owner
        if lacks_scope:
            if made.count("stepped up") == _MAX_STEP_UPS:
                held = () if self._sent is None else self._sent.requested_scopes
                raise InsufficientScope(challenge.scopes or (), held)
            flow = owner.step_up(self._sent, challenge)
        elif "obtained" in made:
            raise AuthError(
                f"{shown_url(self._url)} refuses a token that was just issued for it; it may "
                "need another resource= or issuer="
            )
        else:
            may_refresh = "refreshed" not in made
            flow = owner.replace_rejected(self._sent, challenge, may_refresh=may_refresh)
        made.append((yield from effects.Exclusive(owner.key, flow)))
        return True
