"""Whole logins with everything shown that can be shown: no secret is among it."""

from __future__ import annotations

import asyncio
import io
import logging
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from mcpclient.auth.options import ApiKey, ClientCredentials, OAuth
from mcpclient.client.client import Client
from mcpclient.client.events.callbacks import Hooks
from mcpclient.client.requests import connection_of
from mcpclient.errors import AuthorizationRequired, McpError, ProcessExited, UsageError
from mcpclient.net.login.authentication import finish_auth
from mcpclient.net.login.logins import BrowserLogin, TwoStepLogin
from mcpclient.net.login.storage import FileStore
from mcpclient.net.login.terminal import Terminal
from tests.support.http_server import Answer, HttpServer, Request
from tests.support.mcp_http import LegacyEndpoint, StreamableEndpoint
from tests.support.mcp_server import McpServer
from tests.support.protected import Protected, User

PACKAGE = str(Path(mcpclient.__file__).parent)


class Everything:
    """All that was shown: log, trace, hooks, representations, and exceptions with their causes."""

    def __init__(self) -> None:
        self.text = io.StringIO()

    def show(self, thing: object) -> None:
        print(thing, repr(thing), file=self.text)

    def show_error(self, error: BaseException) -> None:
        self.show(error)
        traceback.print_exception(type(error), error, error.__traceback__, file=self.text)
        self.show(error.__cause__)
        self.show(getattr(error.__cause__, "headers", None))

    def show_variables(self, error: BaseException | None) -> None:
        """Show the variables of the library's frames, as services that collect errors do."""
        while error is not None:
            for frame in traceback.StackSummary.extract(
                traceback.walk_tb(error.__traceback__), capture_locals=True
            ):
                if frame.filename.startswith(PACKAGE):
                    print(frame.name, frame.lineno, frame.locals, file=self.text)
            error = error.__cause__ or error.__context__

    def hold_no_secret(self, protected: Protected) -> None:
        shown = self.text.getvalue()
        assert "mcpclient" in shown
        secrets = {secret for secret in protected.secrets if len(secret) > 8}
        found = [line for line in shown.splitlines() if "SECRET" in line]
        found += [secret for secret in secrets if secret in shown]
        assert not found, found


@pytest.fixture
def everything() -> Iterator[Everything]:
    shown = Everything()
    handler = logging.StreamHandler(shown.text)
    handler.setFormatter(logging.Formatter("%(name)s %(message)s"))
    logger = logging.getLogger()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield shown
    logger.setLevel(level)
    logger.removeHandler(handler)


def connect(url: str, auth: object, everything: Everything, **options: object) -> Client:
    def hook(**facts: object) -> None:
        everything.show(facts)

    if not isinstance(auth, str):
        everything.show(auth)
    return Client(
        url,
        auth=auth,  # type: ignore[arg-type]
        trace=everything.text.write,
        on_error=everything.show_error,
        hooks=Hooks(hook, hook, hook),
        **options,  # type: ignore[arg-type]
    )


async def use(client: Client, everything: Everything) -> None:
    try:
        await client.connect()
        everything.show(client)
        await client.call_tool("echo", {"text": "hello"})
    except McpError as error:
        everything.show_error(error)
    finally:
        await client.close()


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_whole_life_with_a_server(
    kind: str, everything: Everything, tmp_path: Path
) -> None:
    """F-AUTH-12: login, refresh, a refused refresh, and a login that fails."""
    server = McpServer()
    endpoint = StreamableEndpoint(server, session="s") if kind == "http" else LegacyEndpoint(server)
    protected = Protected(endpoint.routes)
    async with HttpServer(protected.routes) as http:
        url = f"{http.url()}?api_key=SECRET-in-url"
        user = User(protected)
        auth = OAuth(local_development=True, provider=user)
        await use(connect(url, auth, everything, transport=kind), everything)
        protected.revoke()
        await use(connect(url, auth, everything, transport=kind), everything)
        protected.revoke()
        protected.refresh_tokens.clear()
        protected.error = "invalid_grant"
        await use(connect(url, auth, everything, transport=kind), everything)
    assert protected.counts["refresh_token"] >= 2
    everything.hold_no_secret(protected)
    # The login itself is in the trace, and its steps.
    shown = everything.text.getvalue()
    for step in ("/.well-known/oauth-", "/register", "grant_type=authorization_code", "/token"):
        assert step in shown
    assert '["Authorization", "Bearer redacted-' in shown


@pytest.mark.parametrize("refusal", ["cut", "nonsense", "another status"])
async def test_a_refresh_that_fails(refusal: str, everything: Everything) -> None:
    """F-AUTH-12: also where services that collect errors read the variables of each frame."""
    protected = Protected(StreamableEndpoint(McpServer()).routes)
    routes = protected.routes
    async with HttpServer(routes) as http:
        url, user = str(http.url()), User(protected)
        auth = OAuth(local_development=True, provider=user)
        await use(connect(url, auth, everything), everything)
        protected.revoke()

        async def fail(request: Request, answer: Answer) -> None:
            if refusal == "cut":
                answer.cut()
            elif refusal == "nonsense":
                answer.full(200, {}, b"{")
            else:
                answer.full(503)

        http.routes["POST /token"] = fail
        client = connect(url, auth, everything)
        with pytest.raises(McpError) as caught:
            await client.connect()
        everything.show_variables(caught.value)
        await client.close()
    assert protected.counts["issued"] == 1
    everything.hold_no_secret(protected)


async def test_two_steps_and_a_file(everything: Everything, tmp_path: Path) -> None:
    """F-AUTH-12: the error carries the address in a field, and shows none of its query."""
    protected = Protected(StreamableEndpoint(McpServer()).routes)
    async with HttpServer(protected.routes) as http:
        url = str(http.url())
        store = FileStore(tmp_path / "credentials.json")
        auth = OAuth(local_development=True, provider=TwoStepLogin(store))
        everything.show(store)
        try:
            await connect(url, auth, everything)
        except AuthorizationRequired as required:
            everything.show_error(required)
            callback = protected.authorize(required.url)
        for _ in range(2):
            try:
                await finish_auth(url, callback, auth=auth)
            except McpError as error:
                everything.show_error(error)
                everything.show_variables(error)
        for address in ("https://a.example/?nothing=SECRET", "code=SECRET&code=SECRET"):
            with pytest.raises(UsageError) as caught:
                await finish_auth(url, address, auth=auth)
            everything.show_variables(caught.value)
        store.path.write_text("damaged SECRET")
        await use(connect(url, auth, everything), everything)
    everything.hold_no_secret(protected)


async def test_credentials_of_a_program(everything: Everything) -> None:
    """F-AUTH-12: a configured secret."""
    protected = Protected(StreamableEndpoint(McpServer()).routes)
    routes = protected.routes

    async def refuse(request: Request, answer: Answer) -> None:
        error = {"error": "invalid_client", "error_description": "SECRET-configured is wrong"}
        answer.json(error, 401)

    routes["POST /token"] = refuse
    async with HttpServer(routes) as http:
        auth = ClientCredentials(
            trust_first_issuer=True,
            client_id="id",
            client_secret="SECRET-configured",
            local_development=True,
            store=User(protected),
        )
        client = connect(str(http.url()), auth, everything)
        await use(client, everything)
        with pytest.raises(McpError) as caught:
            await client.connect()
        everything.show_variables(caught.value)
        await client.close()
    everything.hold_no_secret(protected)


async def test_headers_cookies_and_session_ids(everything: Everything) -> None:
    """F-AUTH-12, F-SHOW-8: also values under a name that the library does not know."""
    endpoint = StreamableEndpoint(McpServer(), session="SECRET-session")

    async def post(request: Request, answer: Answer) -> None:
        if "cookie" not in request.headers:
            answer.full(307, {"Location": "/mcp?x=SECRET", "Set-Cookie": "a=SECRET-cookie; Path=/"})
        else:
            await endpoint.post(request, answer)

    async with HttpServer({**endpoint.routes, "POST /mcp": post}) as http:
        url = f"http://me:SECRET-password@{http.url().authority}/mcp"
        headers = {"X-Mine": "SECRET-key", "Cookie": "b=SECRET-too"}
        await use(connect(url, ApiKey("SECRET-api", "X-Other"), everything), everything)
        await use(connect(url, None, everything, headers=headers), everything)
    everything.hold_no_secret(Protected({}))
    assert '["Mcp-Session-Id", "redacted-' in everything.text.getvalue()
    assert '["Authorization", "Basic redacted-' in everything.text.getvalue()


@pytest.mark.parametrize("auth", ["SECRET-bearer", "SECRET\nbearer", "SECRET-é\u2028"])
async def test_a_bearer_token(auth: str, everything: Everything) -> None:
    """F-AUTH-12: also one that cannot be sent."""
    protected = Protected(StreamableEndpoint(McpServer()).routes)
    async with HttpServer(protected.routes) as http:
        try:
            await use(connect(str(http.url()), auth, everything), everything)
        except McpError as error:
            everything.show_error(error)
        logging.getLogger("mcpclient").debug("the end")
    everything.hold_no_secret(protected)


async def test_a_browser_login_shows_only_the_address(
    everything: Everything, tmp_path: Path
) -> None:
    """F-AUTH-12: to the user, whom it is for, and to no one else."""
    protected = Protected(StreamableEndpoint(McpServer()).routes)
    said = io.StringIO()

    class Pasting(Terminal):
        is_interactive = True

        async def read_line(self) -> str:
            line = next(text for text in said.getvalue().split() if "authorize?" in text)
            return protected.authorize(line)

    async def none(url: str) -> bool:
        return False

    async with HttpServer(protected.routes) as http:
        login = BrowserLogin(
            FileStore(tmp_path / "c.json"), open_browser=none, terminal=Pasting(None, said)
        )
        auth = OAuth(local_development=True, provider=login)
        await use(connect(str(http.url()), auth, everything), everything)
    assert protected.counts["authorization_code"] == 1
    assert "SECRET" not in said.getvalue()
    everything.hold_no_secret(protected)


@pytest.mark.parametrize(
    ("target", "options"),
    [
        ("http://u:SECRET-1@h/mcp?k=SECRET-2", {"headers": {"X": "SECRET-3"}}),
        ("http://h/mcp?k=SECRET-1", {"transport": "sse", "proxy": "http://u:SECRET-2@h"}),
        ("ws://SECRET-1@h/mcp?k=SECRET-2", {"auth": "SECRET-3"}),
        ("https://h", {"auth": ApiKey("SECRET-1"), "client_cert": ("a", "b", "SECRET-2")}),
        (["server"], {"env": {"KEY": "SECRET-1"}}),
    ],
)
def test_nothing_about_a_client_shows_what_it_was_given(target: Any, options: Any) -> None:
    """F-AUTH-12"""
    connection = connection_of(Client(target, **options))
    shown = repr([Client(target, **options), connection.options, connection.route])
    assert "SECRET" not in shown


@pytest.mark.parametrize(
    ("target", "options"),
    [
        (["server", "--key", "SECRET", 8080], {}),
        ({"https": "SECRET"}.items(), {}),
        ("http://h", {"proxy": {"https": "http://u:SECRET@h"}}),
        ("http://u:SECRET@h:99999", {}),
        ("http://h", {"headers": {"X": b"SECRET"}}),
    ],
)
def test_what_is_given_wrongly_is_not_repeated(target: Any, options: Any) -> None:
    """F-AUTH-12"""
    with pytest.raises(UsageError) as caught:
        asyncio.run(Client(target, **options).connect())
    assert "SECRET" not in repr(caught.value) + str(caught.value)


def test_what_a_server_process_shows_of_its_variables() -> None:
    """F-AUTH-12: they are known in a trace, wherever they turn up."""
    lines: list[str] = []
    program = (
        "import os, sys; sys.exit('key ' + os.environ['MY_KEY'] + ' mode ' + os.environ['MODE'])"
    )
    variables = {"MY_KEY": "SECRET-key", "MODE": "production"}
    client = Client(
        [sys.executable, "-c", program], env=variables, stderr="discard", trace=lines.append
    )
    with pytest.raises(ProcessExited):
        asyncio.run(client.connect())
    trace = "".join(lines)
    assert "key redacted-1 mode redacted-2" in trace
    assert "SECRET" not in trace
