"""Proofs that a client holds the key its tokens are bound to (DPoP, RFC 9449)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from .effects import Flow, Response, now, random_bytes
from .signing import Es256Key, base64url, sign_jwt
from .url_guard import origin_of

# RFC 9449 section 8.1 sets no limit; a server has no need of more.
_MAX_NONCE_LENGTH = 1024


@dataclass
class DpopProver:
    """Makes proofs with one key, and remembers the nonce each server last asked for.

    Nonces are kept by origin and by role, since the authorization server's are not the resource
    server's even where both live on one host (RFC 9449 sections 8 and 9).
    """

    key: Es256Key = field(repr=False)
    _nonces: dict[tuple[str, bool], str] = field(default_factory=dict, repr=False)

    def proof(self, method: str, url: str, access_token: str | None = None) -> Flow[str]:
        """The value of the DPoP header for one request.

        Give ``access_token`` for a request to the resource, none for a request for a token.
        """
        claims: dict[str, object] = {
            "jti": base64url((yield from random_bytes(16))),
            "htm": method,
            "htu": url.partition("#")[0].partition("?")[0],
            "iat": int((yield from now())),
        }
        if access_token is not None:
            claims["ath"] = access_token_hash(access_token)
        nonce = self._nonces.get((origin_of(url), access_token is not None))
        if nonce is not None:
            claims["nonce"] = nonce
        return sign_jwt({"typ": "dpop+jwt", "jwk": self.key.public_jwk()}, claims, self.key)

    def note(self, response: Response, url: str, *, for_resource: bool) -> bool:
        """Remember the nonce in ``response``, if any. True when it is a new one."""
        nonce = response.header("dpop-nonce")
        if nonce is None or len(nonce) > _MAX_NONCE_LENGTH or not nonce.isascii():
            return False
        slot = (origin_of(url), for_resource)
        is_new = self._nonces.get(slot) != nonce
        self._nonces[slot] = nonce
        return is_new


def access_token_hash(access_token: str) -> str:
    """The ``ath`` claim: the token's SHA-256 in base64url (RFC 9449 section 4.2)."""
    return base64url(hashlib.sha256(access_token.encode("ascii")).digest())


def wants_nonce(status: int, error: object) -> bool:
    """Whether an answer asks to repeat the request with the nonce it carries."""
    return status in (400, 401) and error == "use_dpop_nonce"
