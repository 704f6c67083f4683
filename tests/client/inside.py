"""A client of an in-process server that is a table, for tests of the client's interface."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Callable

import mcpclient
from tests.client.scripted_server import HANDSHAKE, ScriptedServer
from tests.support.virtual_time import run

Work = Callable[[mcpclient.Client], Awaitable[None]]

VERSIONS = ("2025-11-25", "2026-07-28")


class Server(ScriptedServer):
    """Speaks both eras, and answers from a table of results: ``tools_call=`` is of tools/call."""

    def __init__(self, **answers: Any) -> None:
        table = {name.replace("_", "/"): answer for name, answer in answers.items()}
        super().__init__(table, version=HANDSHAKE)
        self.era = "both"

    def session(self, version: str = "2025-11-25", **options: Any) -> mcpclient.Client:
        """A client in this version, to be opened with ``async with``."""
        return self.client(protocol_version=version, **options)

    @property
    def asked(self) -> list[tuple[str, dict[str, Any]]]:
        """The requests after the opening: the methods, and the params without ``_meta``."""
        return [
            (message["method"], _without_meta(message.get("params", {})))
            for message in self.received
            if "id" in message and message["method"] not in ("initialize", "server/discover")
        ]


def _without_meta(params: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if name != "_meta"}


def use(server: Server, work: Work, version: str = "2025-11-25", **options: Any) -> None:
    """Run ``work`` with a client connected to ``server``."""

    async def session() -> None:
        async with server.client(protocol_version=version, **options) as client:
            await work(client)

    run(session())
