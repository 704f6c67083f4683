"""A client of an in-process server that is one function, for tests of the client's interface."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any, Callable

import mcpclient
from mcpclient.transports.inprocess import InProcessTransport, serve_function
from tests.support.virtual_time import run

Work = Callable[[mcpclient.Client], Awaitable[None]]

VERSIONS = ("2025-11-25", "2026-07-28")


class Server:
    """Answers from a table of results, and remembers what it was asked after the opening."""

    def __init__(self, **results: Any) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self._results = {name.replace("_", "/"): result for name, result in results.items()}

    def __call__(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any] | None:
        about = {"capabilities": {}, "serverInfo": {"name": "inside", "version": "1"}}
        if method == "initialize":
            return {"protocolVersion": "2025-11-25", **about}
        if method == "server/discover":
            return {"supportedVersions": ["2026-07-28"], **about}
        if method.startswith("notifications/"):
            return None
        public = {name: value for name, value in params.items() if name != "_meta"}
        self.asked.append((method, public))
        result = self._results[method]
        answer: Mapping[str, Any] = result(params) if callable(result) else result
        return answer


def use(server: Server, work: Work, version: str = "2025-11-25", **options: Any) -> None:
    """Run ``work`` with a client connected to ``server``."""

    async def session() -> None:
        transport = InProcessTransport(serve_function(server))
        async with mcpclient.connect(transport, protocol_version=version, **options) as client:
            await work(client)

    run(session())
