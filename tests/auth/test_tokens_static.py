from __future__ import annotations

from mcpclient.auth.effects import Response
from mcpclient.auth.options import ApiKey, BearerToken
from mcpclient.auth.tokens import StaticRequest

from .world import World, call, unauthorized

URL = "https://mcp.example/mcp"


def headers(options: BearerToken | ApiKey, url: str = URL) -> dict[str, str]:
    return World().run(StaticRequest(URL, options, url).headers())


def test_tokens_and_keys() -> None:
    """F-AUTH-13: each in its header, from a text or a function, for the server only."""
    assert headers(BearerToken("t")) == {"Authorization": "Bearer t"}
    assert headers(BearerToken(lambda: "t2")) == {"Authorization": "Bearer t2"}
    assert headers(ApiKey("k k")) == {"X-API-Key": "k k"}
    assert headers(ApiKey("k", header="Authorization")) == {"Authorization": "k"}
    assert headers(BearerToken("t"), "https://other.example/mcp") == {}


def test_another_token_is_tried_once() -> None:
    """F-AUTH-13: a function may have a newer one after a 401."""
    world = World()
    tokens = iter(["old", "new", "new", "newer"])
    request = StaticRequest(URL, BearerToken(lambda: next(tokens)), URL)
    sent: list[str] = []

    def answer(got: object) -> Response:
        sent.append(dict(got)["Authorization"])  # type: ignore[call-overload]
        return unauthorized("Bearer")

    assert call(world, request, answer).status == 401
    assert sent == ["Bearer old", "Bearer new"]
