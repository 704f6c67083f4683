"""The column of this library."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from typing import Any

import mcpclient

from .worker import ECHO_ARGUMENTS, Adapter, Client, Stopwatch, Target, serve


class LibraryAdapter(Adapter):
    """This library as its README shows it, with the defaults of `connect`."""

    def connect(
        self, target: Target, era: str, on_notification: Callable[[], None]
    ) -> AbstractAsyncContextManager[Client]:
        def on_each(_method: str, _params: object) -> None:
            on_notification()

        where = target["url"] if "url" in target else target["command"]
        if "token" in target:
            token = target["token"]
            auth = mcpclient.BearerToken(lambda: token)
            return mcpclient.connect(where, on_notification=on_each, auth=auth)
        if era == "handshake":
            return mcpclient.connect(where, on_notification=on_each, protocol_version="2025-11-25")
        return mcpclient.connect(where, on_notification=on_each)

    async def call_batch(self, client: Any, width: int) -> list[Any]:
        outcomes: list[Any] = await client.call_tools([("echo", ECHO_ARGUMENTS)] * width)
        return outcomes

    def text(self, result: Any) -> str:
        return str(result.text)

    async def special(
        self, operation: str, watch: Stopwatch, count: int, target: Target
    ) -> dict[str, int | float]:
        """Operations of this library: many servers, a blocking twin, a sandbox, an audit log."""
        where = target["url"] if "url" in target else target["command"]
        result: dict[str, int | float]
        if operation.startswith("blocking"):
            blocking: Any = import_module(".blocking", __package__)
            if operation == "blocking-call":
                result = await blocking.call_blocking(watch, count, where)
            else:
                result = await blocking.call_from_threads(watch, count, where)
            return result
        if operation == "sandbox-start":
            sandboxed: Any = import_module(".sandboxed", __package__)
            result = await sandboxed.start_confined(watch, count, where)
            return result
        if operation == "audit-call":
            audited: Any = import_module(".audited", __package__)
            result = await audited.call_audited(watch, count, where)
            return result
        if not operation.startswith("manager"):
            return await super().special(operation, watch, count, target)
        rows: Any = import_module(".many_servers", __package__)
        if operation == "manager":
            result = await rows.connect_many(watch, count, where)
        elif operation == "manager-call":
            result = await rows.call_through(watch, count, where)
        else:
            result = rows.list_many(watch, count)
        return result


if __name__ == "__main__":
    serve(LibraryAdapter())
