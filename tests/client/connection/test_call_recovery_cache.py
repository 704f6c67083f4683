"""The response cache of a client, over an in-process server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcpclient.auth.options import BearerToken
from mcpclient.client.client import Client
from tests.client.scripted_server import HANDSHAKE, ScriptedServer
from tests.support.http_server import Answer, HttpServer, Request
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer

pytestmark = pytest.mark.virtual_time


def caching_server(ttl: int = 60_000, scope: str = "private", **options: Any) -> ScriptedServer:
    """A server whose cacheable answers carry a number, so that new ones differ from old ones."""
    numbers = iter(range(1000))

    def numbered(params: dict[str, Any]) -> dict[str, Any]:
        return {
            "resultType": "complete",
            "ttlMs": ttl,
            "cacheScope": scope,
            "tools": [{"name": f"tool{next(numbers)}", "inputSchema": {}}],
            "contents": [{"uri": params.get("uri"), "text": str(next(numbers))}],
        }

    methods = ("tools/list", "resources/read", "prompts/list", "resources/list")
    answers = dict.fromkeys((*methods, "resources/templates/list"), numbered)
    return ScriptedServer(answers, **options)


async def test_another_cookie_may_be_another_user() -> None:
    """F-API-15, F-HTTP-14: a list of the time before a tool logged the user in is not used after
    it."""
    service = StreamableEndpoint(McpServer("stateless"))
    listings: list[str] = []

    async def serve(request: Request, answer: Answer) -> None:
        method, params = request.message["method"], request.message["params"]
        headers: dict[str, str] = {}
        result: dict[str, Any] = {"resultType": "complete"}
        if method == "tools/list":
            listings.append(request.headers.get("cookie", ""))
            result |= {"ttlMs": 60_000, "tools": []}
        elif method == "tools/call":
            headers = {"Set-Cookie": f"user={params['arguments']['user']}; Path=/"}
            result |= {"content": []}
        else:
            await service.post(request, answer)
            return
        answer.json(
            {"jsonrpc": "2.0", "id": request.message["id"], "result": result}, headers=headers
        )

    routes = {**service.routes, "POST /mcp": serve}
    async with HttpServer(routes) as server, Client(str(server.url())) as client:
        for user in ("ada", "ada", "bob"):
            await client.list_tools()
            await client.call_tool("log_in", {"user": user})
            for _ in range(2):
                await client.list_tools()
    assert listings == ["", "user=ada", "user=bob"]


@pytest.mark.parametrize(
    ("of_server", "of_client", "asked"),
    [
        ({"ttl": 0}, {}, 2),
        ({"ttl": -1}, {}, 2),
        ({"version": HANDSHAKE}, {}, 2),
        ({}, {"headers": lambda: {}}, 2),
        ({"scope": "public"}, {"headers": lambda: {}}, 1),
    ],
)
async def test_an_answer_is_kept_where_the_server_allows_it_to_all_who_may_ask(
    of_server: dict[str, Any], of_client: dict[str, Any], asked: int
) -> None:
    """F-API-15, F-API-19: without a time, one request per call; the handshake era has no hints, and
    what looks like one means something else; headers that may differ are not a shared context.
    """
    server = caching_server(**of_server)
    async with server.client(**of_client) as client:
        await client.list_tools()
        await client.list_tools()
    assert len(server.sent("tools/list")) == asked


async def test_an_answer_overtaken_by_a_change_is_not_kept() -> None:
    """F-API-15: what was asked before the change may be from before the change."""
    server = caching_server()
    numbered = server.answers["resources/read"]
    assert callable(numbered)

    async def slow(params: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(5)
        answer = numbered(params)
        assert isinstance(answer, dict)
        return answer

    server.answers["resources/read"] = slow
    async with server.client() as client:
        reading = asyncio.ensure_future(client.read_resource("a"))
        await asyncio.sleep(1)
        server.notify("notifications/resources/updated", uri="a")
        await reading
        await client.read_resource("a")
        await client.read_resource("a")
    assert len(server.sent("resources/read")) == 2


async def test_headers_of_a_single_call_make_a_context_of_their_own() -> None:
    """F-API-15: never across authorization contexts."""
    server = caching_server()
    async with server.client() as client:
        me, you = {"Authorization": "Bearer me"}, {"Authorization": "Bearer you"}
        texts = []
        for headers in (me, you, me, {"authorization": "Bearer you"}, None):
            result = await client.request("resources/read", {"uri": "a"}, headers=headers)
            texts.append(result["contents"][0]["text"])
        assert texts[0] == texts[2] and texts[1] == texts[3]
        assert len(set(texts)) == 3


@pytest.mark.parametrize(("scope", "asked"), [("private", 2), ("public", 1)])
async def test_a_token_that_may_change_keeps_private_results_out(scope: str, asked: int) -> None:
    """F-API-15: the next one may be another user's."""
    server = caching_server(scope=scope)
    endpoint = StreamableEndpoint(server)
    token = BearerToken(lambda: "t")
    async with HttpServer(endpoint.routes) as http, Client(str(http.url()), auth=token) as client:
        await client.list_tools()
        await client.list_tools()
    assert len(server.sent("tools/list")) == asked


async def test_params_that_are_no_json_reach_the_one_who_says_so() -> None:
    """F-WIRE-7: the cache leaves it to the encoder to refuse."""
    server = caching_server()
    async with server.client() as client:
        with pytest.raises(Exception, match="JSON"):
            await client.request("resources/read", {"uri": object()})
