"""The authorizer of tokens and keys from elsewhere; and errors that keep no secret.

Services that collect errors send the variables of every frame of a traceback, and a login's are
tokens, codes and secrets.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from traceback import walk_tb
from typing import NoReturn

from ...auth.options import ApiKey, BearerToken
from ...auth.tokens import static_header
from ...auth.url_guard import origin_of
from ...errors import McpError
from ...framing.http1 import ResponseHead
from ..exchange import Authorizer, RequestAuthorization
from ..futures import settled


class StaticAuthorizer(Authorizer):
    """The authorizer of one server by a function that returns a token or key."""

    def __init__(
        self, server_url: str, options: BearerToken | ApiKey, source: Callable[[], object]
    ) -> None:
        self.origin: str = origin_of(server_url)
        self.options = options
        self.source = source

    def request(self, method: str, url: str, *, passive: bool = False) -> _StaticRequest:
        return _StaticRequest(self, url, passive)


@dataclass(repr=False, eq=False)
class _StaticRequest(RequestAuthorization):
    owner: StaticAuthorizer
    url: str
    passive: bool
    sent: Mapping[str, str] | None = None

    def headers(self, url: str | None = None) -> Mapping[str, str] | Awaitable[Mapping[str, str]]:
        """Return the header to send now, to ``url`` after a redirect; none to another origin."""
        self.url = url or self.url
        if origin_of(self.url) != self.owner.origin:
            return {}
        try:
            value = self.owner.source()
            # Asking whether a value can be awaited takes longer than all else here.
            if not isinstance(value, str) and inspect.isawaitable(value):
                return self._awaited(value)
            self.sent = header = static_header(self.owner.options, value)
            return header
        except Exception as error:
            return failed(error)

    async def _awaited(self, value: Awaitable[object]) -> Mapping[str, str]:
        try:
            self.sent = static_header(self.owner.options, await value)
            return self.sent
        except McpError as error:
            await failed(error)

    async def recover(self, head: ResponseHead) -> bool:
        """Return True once, after a 401, if the user's function returns another token now."""
        if head.status != 401 or self.passive or self.sent is None:
            return False
        sent, self.passive = self.sent, True
        return await settled(self.headers()) != sent


async def failed(error: Exception) -> NoReturn:
    """Raise an error, without the variables of the frames it came through."""
    forget_variables(error)
    raise error


_PACKAGE = __name__.rpartition(".net.")[0]


def forget_variables(error: BaseException) -> None:
    """Clear the variables of the library's frames that an error, or its cause, came through.

    A traceback still says where; frames that still run keep their variables.
    """
    seen: set[int] = set()
    chain: list[BaseException | None] = [error]
    while chain:
        link = chain.pop()
        if link is None or id(link) in seen:
            continue
        seen.add(id(link))
        chain += (link.__cause__, link.__context__)
        for frame, _ in walk_tb(link.__traceback__):
            if str(frame.f_globals.get("__name__")).startswith(f"{_PACKAGE}."):
                with suppress(RuntimeError):  # it still runs
                    frame.clear()
