"""The documents about a server and its authorization server, one in each line."""

from __future__ import annotations

from mcpclient.auth.discovery import (
    AuthorizationServer,
    ProtectedResource,
    authorization_server_urls,
    discover,
    protected_resource_urls,
    speaks_for,
)
from mcpclient.auth.effects import Fetch, Response, parse_object
from mcpclient.auth.options import ServerTrust
from mcpclient.auth.url_guard import UrlPolicy
from mcpclient.errors import AuthError

SERVER = "https://mcp.example/path"


def target(data: bytes) -> None:
    bodies = data.split(b"\n")
    for body in bodies:
        document = parse_object(body)
        for kind in (ProtectedResource, AuthorizationServer):
            try:
                kind.parse(document or {})
            except AuthError as error:
                assert str(error)
    # A challenge may name the first document by a URL, which is the last line.
    named = bodies[-1].decode("latin-1")
    for url in (None, named):
        run_discovery(bodies, url)


def run_discovery(bodies: list[bytes], named: str | None) -> None:
    flow = discover(SERVER, ServerTrust(), UrlPolicy(), resource_metadata_url=named)
    answers = iter(bodies)
    try:
        effect = next(flow)
        while True:
            assert isinstance(effect, Fetch) and effect.url.startswith("https://")
            body = next(answers, b"")
            # A line that is not a document is a place to go to.
            redirect = b"{" not in body
            headers = [("Location", body.decode("latin-1"))] if redirect else []
            effect = flow.send(Response(302 if redirect else 200, headers, body))
    except AuthError as error:
        assert str(error)
    except StopIteration as end:
        found = end.value
        assert found.server.token_endpoint
        assert authorization_server_urls(found.server.issuer)
        if found.resource is not None:
            place = protected_resource_urls(found.resource.resource)[0]
            assert speaks_for(found.resource.resource, place, SERVER)
