"""Which authorization server a user's credentials belong to, where the user did not say.

What cannot be taken back, such as a secret, is bound by credential: whichever server names another
authorization server, it gets none. A client without a secret is bound server by server. Both are
remembered when a grant was obtained, and not before: one wrong answer shuts nobody out.
"""

from __future__ import annotations

from typing import TypeVar

from ..errors import RegistrationRequired
from .effects import Flow, StoredItem, exclusive, load, save
from .options import OAuthOptions

T = TypeVar("T")


def bound(options: OAuthOptions, server_name: str, issuer: str, flow: Flow[T]) -> Flow[T]:
    """Run ``flow``, which shows credentials to ``issuer``, unless they are another one's.

    Of many servers that come first with the same secret, one is trusted before the next may try.
    Raises RegistrationRequired.
    """
    key = _credential_key(options)
    yield from check_binding(options, server_name, issuer)
    if key is None or (yield from load(key)) is not None:
        return (yield from flow)
    return (yield from exclusive(key, _first(options, server_name, issuer, flow)))


def _first(options: OAuthOptions, server_name: str, issuer: str, flow: Flow[T]) -> Flow[T]:
    yield from check_binding(options, server_name, issuer)
    return (yield from flow)


def check_binding(options: OAuthOptions, server_name: str, issuer: str) -> Flow[None]:
    """Raise RegistrationRequired when the credentials belong to another one than ``issuer``."""
    record = yield from _binding(options, server_name)
    if record is None or record.get("issuer") == issuer:
        return
    raise RegistrationRequired(
        issuer,
        f"the configured credentials are those of {record.get('issuer')}, trusted first for "
        f"{record.get('server', server_name)}; to use them with another one, log out there "
        "(mcpclient auth logout), or name the right issuer=",
    )


def bind(options: OAuthOptions, server_name: str, issuer: str) -> Flow[None]:
    """Remember that ``issuer`` has taken the credentials."""
    if options.knows_issuer or not (options.client_id or options.holds_secret):
        return
    key = _credential_key(options)
    if (yield from _binding(options, server_name)) is not None:
        return
    yield from save(
        _server_key(server_name),
        {"client_id": options.client_id, "issuer": issuer, "credential": key},
    )
    if key is not None:
        yield from save(key, {"issuer": issuer, "server": server_name})


def unbind(options: OAuthOptions, server_name: str) -> Flow[None]:
    """Forget whom the credentials belong to: these, and those first trusted for this server."""
    record = yield from load(_server_key(server_name))
    first_trusted = None if record is None else record.get("credential")
    for key in {_credential_key(options), first_trusted, _server_key(server_name)}:
        if isinstance(key, str):
            yield from save(key, None)


def _binding(options: OAuthOptions, server_name: str) -> Flow[StoredItem | None]:
    if options.knows_issuer:
        return None
    key = _credential_key(options)
    if key is not None:
        return (yield from load(key))
    record = yield from load(_server_key(server_name))
    is_same = record is not None and record.get("client_id") == options.client_id
    return record if is_same and options.client_id is not None else None


def _server_key(server_name: str) -> str:
    return f"issuer {server_name}"


def _credential_key(options: OAuthOptions) -> str | None:
    """The name of the secret in the store; it holds nothing of the secret itself.

    A secret or an assertion that was replaced by a newer one is still the same credential.
    """
    if options.knows_issuer or not options.holds_secret:
        return None
    return f"credential {options.client_id or type(options).__name__}"
