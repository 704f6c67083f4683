"""Tokens and keys from elsewhere: nothing to discover, nothing to refresh."""

from __future__ import annotations

import re

from ..errors import UsageError
from .effects import Flow, Response
from .options import ApiKey, BearerToken
from .url_guard import origin_of
from .workload_identity import token_from

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
