from __future__ import annotations

import pytest

from mcpclient.auth.options import ApiKey, BearerToken
from mcpclient.errors import UsageError
from mcpclient.framing.headers import Headers
from mcpclient.framing.http1 import ResponseHead
from mcpclient.net.login.authentication import credentials_for
from mcpclient.net.network_options import NetworkOptions
from tests.support.tables import each_row

URL = "https://mcp.example/mcp"


def test_tokens_and_keys() -> None:
    """F-AUTH-13: each in its header, from a string or a function, for the server only."""
    for options, header in (
        (BearerToken("t"), {"Authorization": "Bearer t"}),
        (ApiKey("k k"), {"X-API-Key": "k k"}),
        (ApiKey("k", header="Authorization"), {"Authorization": "k"}),
    ):
        assert credentials_for(options, URL, NetworkOptions()) == header
    asked = credentials_for(BearerToken(lambda: "t2"), URL, NetworkOptions())
    request = asked.request("POST", URL)  # type: ignore[union-attr]
    assert request.headers() == {"Authorization": "Bearer t2"}
    assert request.headers("https://other.example/mcp") == {}


@each_row("token", ["t0k\r\nX: y", "t0k\n", " t0k", "t0ké", "t0k\x00"])
def test_a_token_cannot_become_another_header(token: str) -> None:
    """F-AUTH-13: and the error does not show it."""
    with pytest.raises(UsageError) as caught:
        credentials_for(BearerToken(token), URL, NetworkOptions())
    assert "t0k" not in str(caught.value)


async def test_another_token_is_tried_once() -> None:
    """F-AUTH-13: a function may have a newer one after a 401."""
    tokens = iter(["old", "new", "new", "newer"])
    asked = credentials_for(BearerToken(lambda: next(tokens)), URL, NetworkOptions())
    request = asked.request("POST", URL)  # type: ignore[union-attr]
    refusal = ResponseHead(401, "", Headers(), "1.1")
    assert request.headers() == {"Authorization": "Bearer old"}
    assert await request.recover(refusal)
    assert request.headers() == {"Authorization": "Bearer new"}
    assert not await request.recover(refusal)
