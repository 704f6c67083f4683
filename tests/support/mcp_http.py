"""`McpServer` over HTTP: a Streamable HTTP endpoint and a legacy HTTP+SSE one, as handlers."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.support.http_server import Answer, Handler, Request
from tests.support.mcp_server import Json, McpServer, OpenedServer


class StreamableEndpoint:
    """One MCP endpoint. ``json``: answer with JSON, else with event streams. What the server says
    besides a JSON answer goes to the stream that a client has opened with GET.

    ``session``: the session id to give out; a request that has another is answered with ``refusal``
    (404), as it is by a server that has restarted. ``listens``: whether GET opens a stream, to
    which `send` then writes.
    """

    def __init__(
        self,
        server: OpenedServer,
        *,
        json: bool = True,
        session: str | None = None,
        listens: bool = False,
    ) -> None:
        self.server = server
        self.session = session
        self.refusal: tuple[int, bytes] = (404, b"")
        self.channel: Answer | None = None
        self._json = json
        self._listens = listens

    @property
    def routes(self) -> dict[str, Handler]:
        """The routes for an `HttpServer`."""
        return {"POST /mcp": self.post, "GET /mcp": self.get, "DELETE /mcp": self.delete}

    async def post(self, request: Request, answer: Answer) -> None:
        message = request.message
        if self._is_stranger(request, message):
            status, body = self.refusal
            answer.full(status, {"Content-Type": "application/json"}, body)
        elif "id" not in message or "method" not in message:
            self.server.receive(message, lambda _: None)
            answer.full(202)
        elif self._json:
            await self._answer_with_json(message, answer)
        else:
            await self._answer_with_stream(message, answer)

    def _is_stranger(self, request: Request, message: Json) -> bool:
        if self.session is None or message.get("method") == "initialize":
            return False
        if self.server.era != "handshake" and "mcp-method" in request.headers:
            return False  # of the stateless era, which has no sessions
        return request.headers.get("mcp-session-id") != self.session

    def _headers(self, message: Json) -> dict[str, str]:
        if self.session is None or message["method"] != "initialize":
            return {}
        return {"Mcp-Session-Id": self.session}

    async def _answer_with_json(self, message: Json, answer: Answer) -> None:
        answered: asyncio.Future[Json] = asyncio.get_running_loop().create_future()

        def send(reply: Json) -> None:
            if reply.get("id") == message["id"] and "method" not in reply:
                answered.set_result(reply)
            elif self.channel is not None:
                self.channel.event(reply)

        self.server.receive(message, send)
        if await _comes_before_the_client_goes(answered, answer):
            answer.json(answered.result(), headers=self._headers(message))

    async def _answer_with_stream(self, message: Json, answer: Answer) -> None:
        answered: asyncio.Future[Json] = asyncio.get_running_loop().create_future()

        def send(reply: Json) -> None:
            answer.event(reply)
            if reply.get("id") == message["id"] and "method" not in reply:
                answered.set_result(reply)

        answer.stream(self._headers(message))
        self.server.receive(message, send)
        if await _comes_before_the_client_goes(answered, answer):
            answer.end()

    async def get(self, request: Request, answer: Answer) -> None:
        if not self._listens:
            answer.full(405)
            return
        if self.session is not None and request.headers.get("mcp-session-id") != self.session:
            answer.full(self.refusal[0], {}, self.refusal[1])
            return
        self.channel = answer
        answer.stream()
        await answer.stall()

    async def delete(self, request: Request, answer: Answer) -> None:
        self.session = None
        answer.full(204)


class LegacyEndpoint:
    """HTTP+SSE of 2024-11-05: the stream at ``/mcp``, messages to ``endpoint``."""

    def __init__(self, server: McpServer, endpoint: str = "/messages?session=1") -> None:
        self.server = server
        self.endpoint = endpoint
        self.channel: Answer | None = None

    @property
    def routes(self) -> dict[str, Handler]:
        """The routes for an `HttpServer`."""
        return {"GET /mcp": self.get, "POST /messages": self.post, "POST /mcp": self.refuse}

    async def get(self, request: Request, answer: Answer) -> None:
        self.channel = answer
        answer.stream()
        answer.event(self.endpoint, event="endpoint")
        await answer.stall()

    async def post(self, request: Request, answer: Answer) -> None:
        assert self.channel is not None
        answer.full(202)
        self.server.receive(request.message, self.channel.event)

    async def refuse(self, request: Request, answer: Answer) -> None:
        answer.full(405)


async def _comes_before_the_client_goes(answered: asyncio.Future[Json], answer: Answer) -> bool:
    if not answered.done():
        gone = asyncio.ensure_future(answer.stall())
        both: set[asyncio.Future[Any]] = {gone, answered}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
        await asyncio.wait({gone})
    return answered.done()
