"""Who the client is at one authorization server, and how it proves that at the token endpoint."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from ..errors import AuthError
from .effects import Flow, StoredItem, now, random_bytes
from .metadata import AuthorizationServer
from .options import ClientCredentials, EnterpriseManaged, OAuth
from .signing import Signer, base64url, sign_jwt

NONE = "none"
SECRET_BASIC = "client_secret_basic"
SECRET_POST = "client_secret_post"
PRIVATE_KEY_JWT = "private_key_jwt"

# How long an assertion is good for, in seconds; it is used at once.
_ASSERTION_LIFETIME = 300

_ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


@dataclass(frozen=True)
class RegisteredClient:
    """A client identity, valid at one ``issuer`` only (except for a metadata document's URL).

    ``method`` is how it authenticates at the token endpoint. The secret of a client that the caller
    configured (``is_configured``) is never stored, and neither is any ``signer``.
    """

    client_id: str
    issuer: str
    method: str = NONE
    client_secret: str | None = field(default=None, repr=False)
    signer: Signer | None = field(default=None, repr=False)
    is_configured: bool = False

    def to_record(self) -> dict[str, object]:
        """This client as JSON can carry it, with the secret it was given on registration."""
        return {
            "client_id": self.client_id,
            "issuer": self.issuer,
            "method": self.method,
            "client_secret": None if self.is_configured else self.client_secret,
            "is_configured": self.is_configured,
        }

    @classmethod
    def from_record(
        cls, record: StoredItem, *, secret: str | None = None, signer: Signer | None = None
    ) -> RegisteredClient | None:
        """The client in ``record``, or None when it holds none.

        ``secret`` and ``signer`` are those the caller configured.
        """
        client_id, issuer, method, stored_secret = (
            record.get(name) for name in ("client_id", "issuer", "method", "client_secret")
        )
        if not (isinstance(client_id, str) and isinstance(issuer, str) and isinstance(method, str)):
            return None
        if record.get("is_configured") is True:
            return cls(client_id, issuer, method, secret, signer, is_configured=True)
        return cls(
            client_id, issuer, method, stored_secret if isinstance(stored_secret, str) else None
        )


def configured_client(
    options: OAuth | ClientCredentials | EnterpriseManaged,
    client_id: str,
    server: AuthorizationServer,
) -> RegisteredClient:
    """The client that the caller configured, as it is at ``server``."""
    method = options.token_endpoint_auth_method or choose_method(
        server.token_endpoint_auth_methods_supported,
        has_secret=options.client_secret is not None,
        signer=options.signer,
    )
    return RegisteredClient(
        client_id, server.issuer, method, options.client_secret, options.signer, is_configured=True
    )


def choose_method(
    supported: Sequence[str] | None, *, has_secret: bool, signer: Signer | None = None
) -> str:
    """The token endpoint authentication method that fits the client and the server.

    ``supported`` is what the server's metadata lists; None means Basic (RFC 8414 section 2).
    """
    if signer is not None:
        return PRIVATE_KEY_JWT
    if not has_secret:
        return NONE
    if supported is None:
        return SECRET_BASIC
    preferred = (SECRET_BASIC, SECRET_POST, NONE)
    return next((method for method in preferred if method in supported), SECRET_BASIC)


def authenticate(
    client: RegisteredClient, form: list[tuple[str, str]], headers: dict[str, str]
) -> Flow[None]:
    """Add to ``form`` and ``headers`` of a token request what proves who the client is.

    Raises AuthError when the client lacks what its method needs, or the method is not supported.
    """
    if client.method == NONE:
        # A workload's assertion may stand for its client as well.
        if client.client_id:
            form.append(("client_id", client.client_id))
    elif client.method == PRIVATE_KEY_JWT:
        if client.signer is None:
            raise AuthError("private_key_jwt needs a signer")
        form.append(("client_assertion_type", _ASSERTION_TYPE))
        form.append(("client_assertion", (yield from _assertion(client, client.signer))))
    elif client.client_secret is None:
        raise AuthError(f"{client.method} needs a client_secret")
    elif client.method == SECRET_POST:
        form += [("client_id", client.client_id), ("client_secret", client.client_secret)]
    elif client.method == SECRET_BASIC:
        # Form-encoded before base64, by RFC 6749 section 2.3.1.
        pair = f"{quote(client.client_id, safe='')}:{quote(client.client_secret, safe='')}"
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode("ascii")
        # The official Python SDK's server wants it here too; section 3.2.1 allows it.
        form.append(("client_id", client.client_id))
    else:
        raise AuthError(f"the client authentication method {client.method!r} is not supported")


def _assertion(client: RegisteredClient, signer: Signer) -> Flow[str]:
    issued_at = int((yield from now()))
    claims: dict[str, object] = {
        "iss": client.client_id,
        "sub": client.client_id,
        # The issuer, not the token endpoint: a token endpoint named by an attacker's metadata must
        # not get an assertion that is good elsewhere.
        "aud": client.issuer,
        "iat": issued_at,
        "exp": issued_at + _ASSERTION_LIFETIME,
        "jti": base64url((yield from random_bytes(16))),
    }
    return sign_jwt({"typ": "JWT"}, claims, signer)
