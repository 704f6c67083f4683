"""Servers that answer anything at all: a flow ends in a result or in an error of ours."""

from __future__ import annotations

import json
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from mcpclient.auth.effects import Callback, Response
from mcpclient.auth.flow import Authorization
from mcpclient.auth.options import ClientCredentials, OAuth
from mcpclient.errors import McpError
from tests.support.properties import examples

from .world import Scene, World, call

URLS = st.sampled_from(
    [
        *("https://auth.example", "https://auth.example/token", "http://auth.example"),
        *("https://[::1", "https://127.1/", "https://auth.example:99999"),
        *("https://u:p@auth.example", "javascript:alert(1)", "", "\x00", "https://é.example"),
        "lone \ud800 surrogate",
        "https://auth.example/" + "x" * 5000,
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | URLS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
RESOURCE_FIELDS = ["resource", "authorization_servers", "scopes_supported"]
SERVER_FIELDS = [
    *("issuer", "authorization_endpoint", "token_endpoint", "registration_endpoint"),
    *("device_authorization_endpoint", "scopes_supported", "code_challenge_methods_supported"),
    "token_endpoint_auth_methods_supported",
]
WELL_KNOWN = ("protected-resource/mcp", "authorization-server")
TOKEN_FIELDS = ["access_token", "token_type", "expires_in", "refresh_token", "scope", "error"]
CLIENT_FIELDS = ["client_id", "client_secret", "token_endpoint_auth_method"]


def some(fields: list[str]) -> st.SearchStrategy[dict[str, object]]:
    return st.dictionaries(st.sampled_from(fields), VALUES, max_size=2)


@examples(60)
@given(
    resource=some(RESOURCE_FIELDS),
    server=some(SERVER_FIELDS),
    token=some(TOKEN_FIELDS),
    client=some([*CLIENT_FIELDS, "client_secret_expires_at"]),
    device=st.booleans(),
)
def test_any_document_ends_in_a_result_or_an_error_of_ours(
    resource: dict[str, object],
    server: dict[str, object],
    token: dict[str, object],
    client: dict[str, object],
    device: bool,
) -> None:
    """F-AUTH-1 F-AUTH-5: fields of any type and any content."""
    scene = Scene(
        None, {"metadata": server, "token_fields": token, "registration": client}, metadata=resource
    )
    robot = ClientCredentials(trust_first_issuer=True, client_id="i", client_secret="s")
    for options in (OAuth(device=device), robot):
        authorization = Authorization(scene.server.url, options)
        with suppress(McpError):
            scene.call(authorization)
            scene.world.time += 10_000
            scene.call(authorization)


@examples(60)
@given(
    st.lists(st.binary(max_size=40) | st.just(b'{"access_token": "t"}'), min_size=1, max_size=8),
    st.sampled_from([200, 201, 204, 302, 400, 401, 404, 500]),
    st.text(alphabet='Bearer DPoP="scope,x\\', max_size=60),
)
def test_any_bytes_end_in_a_result_or_an_error_of_ours(
    bodies: list[bytes], status: int, challenge: str
) -> None:
    """F-AUTH-1 F-AUTH-5: answers of any status and any bytes, for every request there is."""
    world = World()
    answers = iter(bodies * 20)

    def anything(_: object) -> Response:
        return Response(status, [("Location", "/x"), ("DPoP-Nonce", "n")], next(answers))

    server = "https://mcp.example/mcp"
    names = ("register", "token", "x", *(f".well-known/oauth-{name}" for name in WELL_KNOWN))
    for name in names:
        for method in ("GET", "POST"):
            world.on(method, f"https://mcp.example/{name}", anything)
    world.user = lambda sent: Callback(code="c", state=sent.state)
    authorization = Authorization(server, OAuth(dpop=len(bodies) % 2 == 0))
    refusal = Response(401, [("WWW-Authenticate", challenge)], b"")
    with suppress(McpError):
        call(world, authorization.request("POST", server), lambda _: refusal)


@examples(60)
@given(st.dictionaries(st.sampled_from(["client", "tokens", "dpop_key", "x"]), VALUES))
def test_any_stored_record_is_read(record: dict[str, object]) -> None:
    """F-AUTH-9: a store that another program wrote to."""
    world = World()
    stored = json.loads(json.dumps(record))
    for key in ("grant OAuth https://mcp.example/mcp", "pending https://mcp.example/mcp"):
        world.store[key] = {**stored, "pending": [stored]}
    authorization = Authorization("https://mcp.example/mcp", OAuth())
    world.run(authorization.current_grant())
    with suppress(McpError):
        world.run(authorization.finish(Callback(code="c", state="s")))
