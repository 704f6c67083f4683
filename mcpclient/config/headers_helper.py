"""Headers that a program prints: the ``headersHelper`` of an entry."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..errors import ConnectFailed, McpError
from ..net.process.programs import output_of

_SECONDS = 10.0
# How long printed headers hold: the tokens in them usually live for ten minutes or an hour.
_VALID_SECONDS = 300.0
_MAX_OUTPUT = 64 * 1024


@dataclass
class HeadersHelper:
    """The headers of a server, some of them printed by a program as a JSON object of strings.

    ``line``: what a shell is to run, in the folder ``base``; it finds the name and the URL of its
    server in ``CLAUDE_CODE_MCP_SERVER_NAME`` and ``CLAUDE_CODE_MCP_SERVER_URL``. ``fixed``: the
    headers of the entry itself; a printed one of the same name counts more.

    The program has 10 seconds and 64 KiB. It runs for the first request, and again for one that
    comes 5 minutes later. Neither its output nor its stderr is ever shown or logged.
    """

    line: str = field(repr=False)
    name: str
    url: str = field(repr=False)
    base: str
    fixed: Mapping[str, str] = field(default_factory=dict, repr=False)
    _running: asyncio.Future[dict[str, str]] | None = field(
        default=None, init=False, repr=False, compare=False
    )
    _valid_until: float = field(default=0.0, init=False, repr=False, compare=False)

    @property
    def words(self) -> list[str]:
        """The command that is run, for judging it."""
        if os.name == "nt":
            return ["cmd", "/d", "/s", "/c", self.line]
        return ["/bin/sh", "-c", self.line]

    async def __call__(self) -> Mapping[str, str]:
        """Return the headers. Raises `ConnectFailed` where the program does not print any."""
        running, now = self._running, asyncio.get_running_loop().time()
        has_failed = (
            running is not None
            and running.done()
            and (running.cancelled() or running.exception() is not None)
        )
        if running is None or has_failed or now >= self._valid_until:
            running = self._running = asyncio.ensure_future(self._printed())
            self._valid_until = now + _VALID_SECONDS
        # One request that is given up must not cost the others their headers.
        return await asyncio.shield(running)

    async def _printed(self) -> dict[str, str]:
        env = {
            **os.environ,
            "CLAUDE_CODE_MCP_SERVER_NAME": self.name,
            "CLAUDE_CODE_MCP_SERVER_URL": self.url,
        }
        try:
            code, output = await output_of(
                self.words, env, self.base, limit=_MAX_OUTPUT, seconds=_SECONDS
            )
        except (asyncio.TimeoutError, TimeoutError):
            raise self._failed(f"did not end within {_SECONDS:g} seconds") from None
        except McpError:
            raise self._failed("cannot be started") from None
        if len(output) > _MAX_OUTPUT:
            raise self._failed(f"printed more than {_MAX_OUTPUT} bytes")
        if code != 0:
            raise self._failed(f"exited with code {code}")
        try:
            found = json.loads(output)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or not all(isinstance(text, str) for text in found.values()):
            raise self._failed("did not print a JSON object of strings")
        printed = {name.lower() for name in found}
        kept = {name: text for name, text in self.fixed.items() if name.lower() not in printed}
        return {**kept, **found}

    def _failed(self, reason: str) -> ConnectFailed:
        return ConnectFailed(self.name, f"its headersHelper {reason}")
