"""The column of this library."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import mcpclient

from .worker import Adapter, Client, Target, serve


class LibraryAdapter(Adapter):
    """This library as its README shows it, with the defaults of `connect`."""

    def connect(
        self, target: Target, era: str, on_notification: Callable[[], None]
    ) -> AbstractAsyncContextManager[Client]:
        def on_each(_method: str, _params: object) -> None:
            on_notification()

        where = target["url"] if "url" in target else target["command"]
        if era == "handshake":
            return mcpclient.connect(where, on_notification=on_each, protocol_version="2025-11-25")
        return mcpclient.connect(where, on_notification=on_each)

    def text(self, result: Any) -> str:
        return str(result.text)


if __name__ == "__main__":
    serve(LibraryAdapter())
