"""F-API-24: programs as targets."""

from __future__ import annotations

from typing import Any

import pytest

import mcpclient
from mcpclient import AsgiApp, UsageError


async def app(scope: Any, receive: Any, send: Any) -> None: ...


class App:
    async def __call__(self, scope: Any, receive: Any, send: Any) -> None: ...


class Server:
    name = "mine"

    def run(self) -> None: ...

    def create_initialization_options(self) -> None: ...


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        (app, "in-process app /mcp"),
        (App(), "in-process App /mcp"),
        (mcpclient.AsgiApp(App(), "x"), "in-process App /x"),
        (Server(), "in-process mine"),
    ],
)
def test_a_program_is_named_by_what_it_is(target: Any, shown: str) -> None:
    assert f"Client {shown} " in repr(mcpclient.Client(target))


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


# An application, and where its endpoint is


def test_an_endpoint_is_at_mcp_unless_it_is_named() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None: ...

    assert AsgiApp(app).path == "/mcp"
    assert AsgiApp(app, "/api") == AsgiApp(app, path="/api")
