"""F-API-24: programs as targets."""

from __future__ import annotations

from typing import Any

import pytest

import mcpclient
from mcpclient import UsageError


async def app(scope: Any, receive: Any, send: Any) -> None: ...


class App:
    async def __call__(self, scope: Any, receive: Any, send: Any) -> None: ...


class Server:
    name = "mine"

    def run(self) -> None: ...

    def create_initialization_options(self) -> None: ...


@pytest.mark.parametrize(
    ("target", "options", "reason"),
    [
        (app, {"env": {"A": "b"}}, "env needs a command, not an ASGI application"),
        (app, {"transport": "sse"}, "'sse' does not fit an ASGI application"),
        (Server(), {"auth": "x"}, "auth needs an HTTP or WebSocket URL, not a server object"),
    ],
)
def test_options_that_mean_nothing_are_refused(target: Any, options: Any, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        mcpclient.Client(target, **options)


@pytest.mark.parametrize("target", [3, App, lambda one: None, print, min])
def test_what_is_no_program_is_refused(target: Any) -> None:
    with pytest.raises(UsageError, match="not a URL, a command"):
        mcpclient.Client(target)
