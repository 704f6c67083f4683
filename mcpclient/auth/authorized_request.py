"""The authorization of one HTTP request: its headers, and the retry after a 401 or 403."""

from __future__ import annotations

import re
from enum import Enum
from typing import Protocol

from ..display import shown_url
from ..errors import AuthError, InsufficientScope, UsageError, negotiated_scheme
from .challenge import AuthorizationChallenge, read_challenge
from .effects import Flow, Response, token_from
from .grants import Grant
from .options import ApiKey, BearerToken
from .signing import wants_nonce
from .url_guard import UrlPolicy, origin_of

# How often one request may be sent again; each reason has a bound of its own below this one.
_MAX_RECOVERIES = 5
_MAX_NONCES = 2
_MAX_STEP_UPS = 2


class Replacement(Enum):
    """How the tokens that a server has refused were replaced."""

    ADOPTED = "another task or process had already got new tokens"
    REFRESHED = "the refresh token brought new tokens"
    OBTAINED = "there is a new grant"


class GrantKeeper(Protocol):
    """Who has the grant that a request carries: `flow.Authorization`."""

    policy: UrlPolicy

    def current_grant(self) -> Flow[Grant | None]:
        """The grant to use now; None when there is none yet."""
        ...

    def replace_rejected(
        self, sent: Grant | None, challenge: AuthorizationChallenge, *, may_refresh: bool
    ) -> Flow[Replacement]:
        """After a 401 for a request that carried ``sent``: get other tokens."""
        ...

    def step_up(self, sent: Grant | None, challenge: AuthorizationChallenge) -> Flow[None]:
        """After a 403 for want of scope: get tokens with more."""
        ...


class AuthorizedRequest:
    """The authorization of one HTTP request, through all its repetitions."""

    def __init__(self, owner: GrantKeeper, method: str, url: str) -> None:
        self._owner = owner
        self._method = method
        self._url = url
        self._sent: Grant | None = None
        self._recoveries = 0
        self._nonces = 0
        self._step_ups = 0
        self._may_refresh = True
        self._is_new_grant = False

    def headers(self, url: str | None = None) -> Flow[dict[str, str]]:
        """The headers to send, for ``url`` where a redirect led. Ask anew before every sending.

        Empty while there is no grant, and for any other origin than the server's. Raises what
        `Authorization.log_in` raises when a grant has ended and cannot be refreshed.
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

    def _note(self, response: Response) -> None:
        # Any answer may carry the nonce for the next request (RFC 9449 section 8.2).
        if self._sent is not None and self._sent.prover is not None:
            self._sent.prover.note(response, self._url, for_resource=True)

    def recover(self, response: Response) -> Flow[bool]:
        """Whether to send the request again, after doing what that takes.

        False for answers that are not about authorization, and for those of other origins. Raises
        InsufficientScope when no scope would help, AuthError when new tokens are refused too, and
        what `Authorization.log_in` raises.
        """
        fields = response.header_values("www-authenticate")
        if negotiated_scheme(", ".join(fields)):  # no token of OAuth would help
            return False
        challenge = read_challenge(fields)
        lacks_scope = response.status == 403 and challenge.error == "insufficient_scope"
        if not self._is_for_server or not (response.status == 401 or lacks_scope):
            self._note(response)
            return False
        self._recoveries += 1
        if self._recoveries > _MAX_RECOVERIES:
            raise AuthError(
                f"{shown_url(self._url)} refuses every token; it may want another resource="
            )
        if self._has_new_nonce(response, challenge):
            return True
        if lacks_scope:
            yield from self._answer_forbidden(challenge)
        else:
            yield from self._answer_unauthorized(challenge)
        return True

    def _has_new_nonce(self, response: Response, challenge: AuthorizationChallenge) -> bool:
        prover = None if self._sent is None else self._sent.prover
        if prover is None or not prover.note(response, self._url, for_resource=True):
            return False
        if not wants_nonce(response.status, challenge.error):
            return False
        self._nonces += 1
        return self._nonces <= _MAX_NONCES

    def _answer_unauthorized(self, challenge: AuthorizationChallenge) -> Flow[None]:
        if self._is_new_grant:
            raise AuthError(
                f"{shown_url(self._url)} refuses a token that was just issued for it; it may "
                "want another resource= or issuer="
            )
        outcome = yield from self._owner.replace_rejected(
            self._sent, challenge, may_refresh=self._may_refresh
        )
        if outcome is Replacement.REFRESHED:
            self._may_refresh = False
        self._is_new_grant = outcome is Replacement.OBTAINED

    def _answer_forbidden(self, challenge: AuthorizationChallenge) -> Flow[None]:
        self._step_ups += 1
        if self._step_ups > _MAX_STEP_UPS:
            held = () if self._sent is None else self._sent.requested_scopes
            raise InsufficientScope(challenge.scopes or (), held)
        yield from self._owner.step_up(self._sent, challenge)


_VALUE = re.compile(r"[!-~](?:[ -~]*[!-~])?", re.ASCII)


class StaticAuthorization:
    """The counterpart of `flow.Authorization` for a `BearerToken` or an `ApiKey`."""

    def __init__(self, server_url: str, options: BearerToken | ApiKey) -> None:
        self.server_url = server_url
        self.options = options

    def request(self, method: str, url: str) -> StaticRequest:
        """What one HTTP request needs."""
        return StaticRequest(self, url)


class StaticRequest:
    """The authorization of one HTTP request with a token or key from elsewhere."""

    def __init__(self, owner: StaticAuthorization, url: str) -> None:
        self._owner = owner
        self._url = url
        self._sent: dict[str, str] | None = None
        self._was_repeated = False

    def headers(self, url: str | None = None) -> Flow[dict[str, str]]:
        """The header to send, for ``url`` where a redirect led.

        Empty for any other origin than the server's. Raises UsageError when the token holds what no
        header may hold.
        """
        if url is not None:
            self._url = url
        if origin_of(self._url) != origin_of(self._owner.server_url):
            return {}
        self._sent = yield from self._header()
        return self._sent

    def recover(self, response: Response) -> Flow[bool]:
        """Whether to send again: once after a 401, when the user's function has another token."""
        if response.status != 401 or self._was_repeated or self._sent is None:
            return False
        self._was_repeated = True
        return (yield from self._header()) != self._sent

    def _header(self) -> Flow[dict[str, str]]:
        options = self._owner.options
        if isinstance(options, BearerToken):
            return {"Authorization": "Bearer " + _checked((yield from token_from(options.token)))}
        return {options.header: _checked((yield from token_from(options.key)))}


def _checked(value: str) -> str:
    if not _VALUE.fullmatch(value):
        raise UsageError("the token or key holds characters that a header cannot carry")
    return value
