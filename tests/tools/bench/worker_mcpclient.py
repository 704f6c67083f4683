"""The column of this library."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from typing import Any

import mcpclient

from .worker import ECHO_ARGUMENTS, Adapter, Client, Stopwatch, Target, serve

# The module and the function of each operation; imported when it is measured.
SPECIAL = {
    "manager": ("many_servers", "connect_many"),
    "manager-call": ("many_servers", "call_through"),
    "manager-tools": ("many_servers", "list_many"),
    "blocking-call": ("blocking", "call_blocking"),
    "sandbox-start": ("sandboxed", "start_confined"),
    "audit-call": ("audited", "call_audited"),
}


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
        if operation not in SPECIAL:
            return await super().special(operation, watch, count, target)
        module, function = SPECIAL[operation]
        where = target["url"] if "url" in target else target["command"]
        measure: Any = getattr(import_module(f".{module}", __package__), function)
        result: dict[str, int | float] = await measure(watch, count, where)
        return result


if __name__ == "__main__":
    serve(LibraryAdapter())
