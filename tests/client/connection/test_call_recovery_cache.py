"""The response cache of a client, over an in-process server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcpclient.auth.options import BearerToken
from mcpclient.client.client import Client
from mcpclient.errors import PeerError
from tests.client.scripted_server import HANDSHAKE, ScriptedServer
from tests.support.http_server import Answer, HttpServer, Request
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer

pytestmark = pytest.mark.virtual_time

TOOLS_CHANGED = "notifications/tools/list_changed"


def caching_server(ttl: int = 60_000, scope: str = "private", **options: Any) -> ScriptedServer:
    """A server whose cacheable answers carry a number, so that a new one is told from an old."""
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


async def test_a_fresh_answer_is_used_again_until_its_time_is_over() -> None:
    """F-API-15: ttlMs, by the event loop's clock."""
    server = caching_server()
    async with server.client() as client:
        first = await client.list_tools()
        await asyncio.sleep(59)
        assert await client.list_tools() == first
        await asyncio.sleep(1)
        assert await client.list_tools() != first
    assert len(server.sent("tools/list")) == 2


async def test_every_cacheable_listing_and_reading_is_kept() -> None:
    """F-API-15: lists and reads; each resource by itself."""
    server = caching_server()
    async with server.client() as client:
        for _ in range(2):
            await client.list_prompts()
            await client.list_resources()
            await client.list_resource_templates()
            await client.read_resource("a")
            await client.read_resource("b")
    assert len(server.sent("prompts/list")) == 1
    assert len(server.sent("resources/list")) == 1
    assert len(server.sent("resources/templates/list")) == 1
    assert [params["uri"] for params in server.sent("resources/read")] == ["a", "b"]


async def test_a_caller_can_insist_on_asking() -> None:
    """F-API-15: fresh=True asks the server, and its answer is kept."""
    server = caching_server()
    async with server.client() as client:
        await client.list_tools()
        new = await client.list_tools(fresh=True)
        assert await client.list_tools() == new
        await client.read_resource("a")
        await client.read_resource("a", fresh=True)
        await client.request("tools/list", fresh=True)
    assert len(server.sent("tools/list")) == 3
    assert len(server.sent("resources/read")) == 2


async def test_the_cache_can_be_switched_off() -> None:
    """F-API-15: cache=False; and errors then pass by it."""
    server = caching_server()
    async with server.client(cache=False) as client:
        await client.list_tools()
        await client.list_tools()
        with pytest.raises(PeerError):
            await client.call_tool("x")
    assert len(server.sent("tools/list")) == 2


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
    what looks like one means something else; headers that may differ are no context to share in.
    """
    server = caching_server(**of_server)
    async with server.client(**of_client) as client:
        await client.list_tools()
        await client.list_tools()
    assert len(server.sent("tools/list")) == asked


async def test_a_change_of_the_list_makes_it_stale() -> None:
    """F-API-15: list_changed invalidates at once."""
    server = caching_server()
    async with server.client() as client:
        await client.list_tools()
        await client.read_resource("a")
        server.notify(TOOLS_CHANGED)
        server.notify("notifications/resources/updated", uri="b")
        await asyncio.sleep(0.1)
        await client.list_tools()
        await client.read_resource("a")
    assert len(server.sent("tools/list")) == 2
    assert len(server.sent("resources/read")) == 1


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


async def test_a_result_that_took_input_is_not_kept() -> None:
    """F-API-15: what the server answers to a retry depends on more than the request."""
    server = caching_server()
    numbered = server.answers["resources/read"]
    assert callable(numbered)

    def rounds(params: dict[str, Any]) -> Any:
        if "requestState" in params:
            return numbered(params)
        return {"resultType": "input_required", "requestState": "s", "ttlMs": 60_000}

    server.answers["resources/read"] = rounds
    async with server.client() as client:
        await client.read_resource("a")
        await client.read_resource("a")
    assert len(server.sent("resources/read")) == 4


async def test_a_tool_that_is_not_there_casts_doubt_on_the_list() -> None:
    """F-API-15: an error that suggests a change makes the list stale."""
    server = caching_server()
    async with server.client() as client:
        await client.list_tools()
        with pytest.raises(PeerError):
            await client.call_tool("gone")
        await client.list_tools()
    assert len(server.sent("tools/list")) == 2


@pytest.mark.parametrize("ended_by", ["the server", "the client"])
async def test_a_new_connection_begins_with_nothing(ended_by: str) -> None:
    """F-API-15: another server may answer there, and changes in between were not told."""
    server = caching_server()
    async with server.client() as client:
        await client.list_tools()
        if ended_by == "the server":
            server.lose()
            await asyncio.sleep(1)
        else:
            await client.close()
        await client.connect()
        await client.list_tools()
    assert server.connections == 2
    assert len(server.sent("tools/list")) == 2


async def test_a_ping_always_reaches_the_server() -> None:
    """F-API-15: asking whether the server is there is not answered from memory."""
    server = caching_server()
    discovered = {"supportedVersions": ["2026-07-28"], "capabilities": {}, "ttlMs": 60_000}
    server.answers["server/discover"] = {"resultType": "complete", **discovered}
    async with server.client() as client:
        await client.ping()
        await client.ping()
    assert len(server.sent("server/discover")) == 3


async def test_params_that_are_no_json_reach_the_one_who_says_so() -> None:
    """F-WIRE-7: the cache leaves it to the encoder to refuse."""
    server = caching_server()
    async with server.client() as client:
        with pytest.raises(Exception, match="JSON"):
            await client.request("resources/read", {"uri": object()})


async def test_another_cookie_may_be_another_user() -> None:
    """F-API-15, F-HTTP-14: what was kept before a tool logged the user in is not used after it."""
    service = StreamableEndpoint(McpServer("stateless"))
    listings: list[str] = []

    async def serve(request: Request, answer: Answer) -> None:
        method, request_id = request.message["method"], request.message["id"]
        if method == "tools/list":
            listings.append(request.headers.get("cookie", ""))
            tools = [{"name": f"tool{len(listings)}", "inputSchema": {}}]
            result = {"resultType": "complete", "ttlMs": 60_000, "tools": tools}
            answer.json({"jsonrpc": "2.0", "id": request_id, "result": result})
        elif method == "tools/call":
            user = request.message["params"]["arguments"]["user"]
            result = {"resultType": "complete", "content": []}
            cookie = {"Set-Cookie": f"user={user}; Path=/"}
            answer.json({"jsonrpc": "2.0", "id": request_id, "result": result}, headers=cookie)
        else:
            await service.post(request, answer)

    routes = {**service.routes, "POST /mcp": serve}
    async with HttpServer(routes) as server, Client(str(server.url())) as client:
        for user in ("", "ada", "ada", "bob"):
            if user:
                await client.call_tool("log_in", {"user": user})
            for _ in range(2):
                await client.list_tools()
    assert listings == ["", "user=ada", "user=bob"]
