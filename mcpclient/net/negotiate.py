"""Logins by Negotiate (RFC 4559), at servers and at proxies.

A login at a server begins with a 401, whose connection tells the certificate for the channel
binding (RFC 5929). Where one message was enough, as with Kerberos, each request from then on
carries one. A login of several messages, as with NTLM, stays on its connection.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..errors import AuthError
from ..framing.der import signature_hash
from ..framing.uri import Url, parse_url
from .security_contexts import context_maker
from .shielded import call_in_thread

if TYPE_CHECKING:
    from ..framing.http1 import ResponseHead
    from .clocks import PausableClocks
    from .network_options import Negotiate

_BASE64 = r"(?:[a-z0-9+/]{4})*(?:[a-z0-9+/]{2}==|[a-z0-9+/]{3}=)?"
_CHALLENGE = re.compile(rf"(?i)(?:^|,)\s*negotiate(?:[ \t]+({_BASE64}))?\s*(?:,|$)")
_MAX_MESSAGES = 10  # of one login
_NO_TICKET = (
    "Look at your tickets with klist, and get one with kinit; the name of the service has to be "
    "that of the host in the URL, or Negotiate(host=…)."
)


def challenge_in(text: str) -> bytes | None:
    """Return the message of a challenge, which may be empty; None where there is no challenge."""
    found = _CHALLENGE.search(text)
    return None if found is None else base64.b64decode(found[1] or "")


class Handshake:
    """One login to a host, whose ``certificate`` (in DER) binds it to the TLS connection."""

    def __init__(self, options: Negotiate, host: str, certificate: bytes) -> None:
        self.messages: int = 0
        self._host = options.host or host
        name, binding = signature_hash(certificate), b""
        if name:
            binding = b"tls-server-end-point:" + hashlib.new(name, certificate).digest()
        self._context = context_maker()(self._host, binding)

    async def answer(self, message: bytes = b"") -> str:
        """Return the credentials for the next request. Raises `AuthError`."""
        self.messages += 1
        if self.messages > _MAX_MESSAGES:
            raise AuthError(f"{self._host} did not end the login by Negotiate")
        try:
            token = await call_in_thread(lambda: self._context.step(message))
        except AuthError as error:
            raise error.advise(_NO_TICKET) from None
        return f"Negotiate {base64.b64encode(token).decode()}"

    def finish(self, challenge: str, *, mutual: bool) -> None:
        """Check the server's last message. Raises `AuthError` where it does not prove who it is."""
        message = challenge_in(challenge)
        if message and not self._context.is_complete:
            self._context.step(message)
        if mutual and not (self._context.is_complete and self._context.is_mutual):
            raise AuthError(f"{self._host} has not proved its identity (Negotiate)").advise(
                "Kerberos does so, NTLM cannot; Negotiate(mutual=False) accepts a server without."
            )


class NegotiateAuthorizer:
    """The authorizer of one server; a `transports.http_messages.Authorizer`."""

    clocks: PausableClocks | None = None

    def __init__(self, options: Negotiate, server_url: str) -> None:
        context_maker()  # fails early without a library
        self.options = options
        self.url: Url = parse_url(server_url)
        self.is_eager = False  # one message was enough the last time
        self.certificate = b""

    def request(self, method: str, url: str, *, passive: bool = False) -> _Request:
        return _Request(self, url)

    async def close(self) -> None:
        """Do nothing: there is nothing to give up."""

    def abort(self) -> None:
        """Do nothing, as `close`."""


class _Request:
    """The authorization of one request."""

    def __init__(self, owner: NegotiateAuthorizer, url: str) -> None:
        self._owner = owner
        self._url = url
        self._handshake: Handshake | None = None
        self._is_eager = owner.is_eager
        self._credentials = ""

    async def headers(self, url: str | None = None) -> Mapping[str, str]:
        """Return the header to send now, to ``url`` after a redirect; none to another origin."""
        if url is not None:  # a message serves only once
            self._url, self._credentials, self._is_eager = url, "", self._owner.is_eager
        if not self._is_ours:
            return {}
        if self._is_eager and not self._credentials:
            await self._begin()
        return {"Authorization": self._credentials} if self._credentials else {}

    @property
    def _is_ours(self) -> bool:
        return parse_url(self._url).origin == self._owner.url.origin

    async def _begin(self) -> None:
        owner = self._owner
        self._handshake = Handshake(owner.options, owner.url.host, owner.certificate)
        self._credentials = await self._handshake.answer()

    def note(self, head: ResponseHead) -> None:
        """Check that the server has proved its identity. Raises `AuthError`."""
        handshake = self._handshake
        if handshake is None or not self._credentials:
            return
        mutual = self._owner.options.mutual and head.status < 300
        handshake.finish(head.headers.get("www-authenticate", ""), mutual=mutual)
        self._owner.is_eager = handshake.messages == 1

    async def recover(self, head: ResponseHead) -> bool:
        """Go on with the login, or begin one; False when the server has refused it."""
        message = challenge_in(head.headers.get("www-authenticate", ""))
        if head.status != 401 or message is None or not self._is_ours:
            return False
        if message and self._handshake is not None:
            self._credentials = await self._handshake.answer(message)
            return True
        if self._handshake is not None and not self._is_eager:
            return False
        self._is_eager = False
        self._owner.certificate = head.certificate
        await self._begin()
        return True
