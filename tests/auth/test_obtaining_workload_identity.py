from __future__ import annotations

import pytest

from mcpclient.auth.discovery import AuthorizationServer, Discovery
from mcpclient.auth.effects import token_from
from mcpclient.auth.grants import GrantRequest
from mcpclient.auth.obtaining import by_workload_identity
from mcpclient.auth.options import WorkloadIdentity
from mcpclient.auth.url_guard import UrlPolicy
from mcpclient.errors import TokenRequestFailed, UsageError

from .world import World, form_of, json_response

TOKEN = "https://auth.example/token"
REQUEST = GrantRequest(
    server_url="https://mcp.example",
    server_name="https://mcp.example",
    discovery=Discovery(AuthorizationServer("https://auth.example", TOKEN), None),
    scopes=(),
    resource=None,
    policy=UrlPolicy(),
)


def test_the_assertion_is_asked_for_each_time() -> None:
    """F-AUTH-7: platforms rotate these tokens, so a function gives a fresh one."""
    world = World()
    world.on("POST", TOKEN, json_response({"access_token": "t"}))
    assertions = iter(["one", "two"])
    options = WorkloadIdentity(trust_first_issuer=True, assertion=lambda: next(assertions))
    for _ in range(2):
        world.run(by_workload_identity(REQUEST, options))
    assert [form_of(request)["assertion"] for request in world.fetched] == ["one", "two"]
    assert "client_id" not in form_of(world.fetched[0])


def test_exactly_one_request() -> None:
    """F-AUTH-7: nothing is tried after a refusal."""
    world = World()
    world.on("POST", TOKEN, json_response({"error": "invalid_grant"}, 400))
    with pytest.raises(TokenRequestFailed):
        world.run(
            by_workload_identity(
                REQUEST, WorkloadIdentity(trust_first_issuer=True, assertion="jwt", client_id="id")
            )
        )
    assert len(world.fetched) == 1


@pytest.mark.parametrize("value", [None, "", 7, b"jwt"])
def test_a_function_must_return_a_string(value: object) -> None:
    """F-AUTH-7: and the error does not show what it returned."""
    with pytest.raises(UsageError, match="must return a string"):
        World().run(token_from(lambda: value))
