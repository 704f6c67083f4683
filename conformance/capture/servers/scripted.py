"""A server that does as its plan says: for reactions that no server on an SDK provokes.

Usage: ``python -m conformance.capture.servers.scripted stdio|http|sse|ws PLAN``. Over HTTP it
listens on PORT. It needs nothing but the standard library, except for WebSocket. What a plan (see
`collection.reactions.parts`) does not say is answered as any server would: by a session with the
tool `echo` in either era, and by an authorization server at the same origin where the plan wants a
login.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from conformance.capture.collection.reactions import plan_of
from conformance.capture.collection.reactions.parts import (
    ANSWER,
    DROPPED,
    ORIGIN,
    Await,
    Plan,
    Reply,
    Told,
)

_INFO = {"name": "scripted", "version": "1.0.0"}
_OFFERS = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {"listChanged": True},
    "logging": {},
}
_ECHO = {"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {}}}}
_CODE_TARGET = "http://127.0.0.1:50009/callback"


class Conversation:
    """The messages so far, and the next answer; one for the whole server."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.heard: Counter[str] = Counter()
        self._changed = asyncio.Event()
        self._replies = {key: list(replies) for key, replies in plan.replies.items()}

    def reply(self, key: str) -> Reply:
        """Count an incoming message, and return the reply to it: the last one for good."""
        self.heard[key] += 1
        self._changed.set()
        left = self._replies.get(key, [])
        if not left:
            return Reply()
        return left.pop(0) if len(left) > 1 else left[0]

    async def until(self, awaited: Await) -> None:
        """Wait until something has come as often."""
        while self.heard[awaited.key] < awaited.times:
            self._changed.clear()
            await self._changed.wait()

    def result(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result that a request gets unless the plan has another."""
        method, params = message["method"], message.get("params") or {}
        offers = {**_OFFERS, **self.plan.capabilities}
        if method == "initialize":
            version = self.plan.version or params["protocolVersion"]
            return {"protocolVersion": version, "capabilities": offers, "serverInfo": _INFO}
        if method == "tools/call":
            return {"content": [{"type": "text", "text": params["arguments"].get("text", "")}]}
        if method == "resources/read":
            return {"contents": [{"uri": params["uri"], "text": "as it is now"}]}
        lists = {"tools/list": [_ECHO], "resources/list": [], "prompts/list": []}
        if method in lists:
            return {method.partition("/")[0]: lists[method]}
        if method == "server/discover":
            versions = {"supportedVersions": ["2026-07-28"]}
            return {**versions, "capabilities": offers, "serverInfo": _INFO}
        return {}

    def answer(self, message: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
        """Return the answer to a request."""
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message.get("id")}
        if reply.error is not None:
            return {**answer, "error": reply.error}
        result = self.result(message) if reply.result is None else reply.result
        meta = (message.get("params") or {}).get("_meta") or {}
        if self.plan.is_stateless and "io.modelcontextprotocol/protocolVersion" in meta:
            kept = {"ttlMs": 0, "cacheScope": "private"}
            cached = any(name in message["method"] for name in ("list", "read", "discover"))
            result = {"resultType": "complete", **(kept if cached else {}), **result}
            result["_meta"] = {"io.modelcontextprotocol/serverInfo": _INFO}
        return {**answer, "result": result}

    def said(self, part: Any, message: Mapping[str, Any], reply: Reply) -> Any:
        """Return one part of a reply with the names of the request in it."""
        return self.answer(message, reply) if part is ANSWER else filled(part, message)


def key_of(message: Mapping[str, Any]) -> str:
    """Return the name of a message in plans."""
    return str(message.get("method", "answer"))


def filled(value: Any, message: Mapping[str, Any]) -> Any:
    """Put the id and the progress token of a request in for their placeholders."""
    if isinstance(value, dict):
        return {name: filled(member, message) for name, member in value.items()}
    if isinstance(value, list):
        return [filled(item, message) for item in value]
    meta = (message.get("params") or {}).get("_meta") or {}
    places = {"{id}": message.get("id"), "{token}": meta.get("progressToken")}
    return places.get(value, value) if isinstance(value, str) else value


# stdio


async def serve_stdio(talk: Conversation) -> None:
    """Answer one line after the other."""
    saying: list[asyncio.Future[None]] = []
    while line := await asyncio.get_running_loop().run_in_executor(None, sys.stdin.buffer.readline):
        message = json.loads(line)
        reply = talk.reply(key_of(message))
        parts = reply.events if reply.events is not None else (ANSWER,)
        if reply.events is None and ("id" not in message or "method" not in message):
            continue
        saying.append(asyncio.ensure_future(_say(talk, parts, message, reply)))
        await asyncio.sleep(0)


async def _say(
    talk: Conversation, parts: tuple[Any, ...], message: Mapping[str, Any], reply: Reply
) -> None:
    for part in parts:
        if isinstance(part, Await):
            await talk.until(part)
            continue
        said = talk.said(part, message, reply)
        text = said if isinstance(said, str) else json.dumps(said, separators=(",", ":")) + "\n"
        sys.stdout.write(text)
        sys.stdout.flush()
    if reply.cut:
        os._exit(1)


# HTTP


class Exchange:
    """One request of HTTP, and where its response goes."""

    def __init__(
        self, writer: asyncio.StreamWriter, method: str, target: str, headers: Mapping[str, str]
    ) -> None:
        self.method = method
        self.target = target
        self.headers = headers
        self._writer = writer

    def head(self, status: int, headers: Mapping[str, str], length: int | None) -> None:
        framing = {"Transfer-Encoding": "chunked"} if length is None else {}
        if length is not None and status not in (204, 304):
            framing = {"Content-Length": str(length)}
        lines = [f"{name}: {value}" for name, value in {**headers, **framing}.items() if value]
        self._writer.write("\r\n".join([f"HTTP/1.1 {status} Scripted", *lines, "", ""]).encode())

    def whole(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.head(status, headers, len(body))
        self._writer.write(body)

    def write(self, data: bytes) -> None:
        self._writer.write(data)

    def piece(self, data: bytes) -> None:
        self._writer.write(b"%x\r\n%s\r\n" % (len(data), data))

    async def end(self, *, cut: bool) -> None:
        if not cut:
            self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()
        if cut:
            self._writer.close()


class HttpServer:
    """Answers requests as the plan says, or as a server would."""

    def __init__(self, talk: Conversation) -> None:
        self._talk = talk
        self._sessions = 0
        self._tokens = 0
        self._asked: Mapping[str, Any] = {}
        self._channel: Exchange

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                first, *lines = head[:-4].split("\r\n")
                method, target, _ = first.split(" ")
                pairs = (line.partition(":") for line in lines)
                headers = {name.lower(): value.strip() for name, _, value in pairs}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                exchange = Exchange(writer, method, target, headers)
                await self._answer(exchange, body)
                await writer.drain()
        writer.close()

    async def _answer(self, exchange: Exchange, body: bytes) -> None:
        path = urlsplit(exchange.target).path
        if path in ("/sse", "/messages"):
            await self._say_by_sse(exchange, json.loads(body) if body else {})
            return
        if path != self._talk.plan.path:
            await self._authorize(exchange, path, body)
            return
        message = json.loads(body) if body else {}
        key = key_of(message) if exchange.method == "POST" else exchange.method
        if "id" in message and "method" in message:
            self._asked = message
        reply = self._talk.reply(key)
        bearer = exchange.headers.get("authorization", "")
        wanted = f"Bearer the-token-with-the-number-{self._tokens}"
        if self._talk.plan.login and reply == Reply() and (not self._tokens or bearer != wanted):
            reply = Reply(401, {"WWW-Authenticate": self._challenge()}, body=b"")
        # A request that resumes a stream gets the answers to the calls of that stream.
        await self._say(exchange, message or self._asked, reply)

    def _challenge(self) -> str:
        at = f"http://127.0.0.1:{os.environ['PORT']}/.well-known/oauth-protected-resource/mcp"
        return f'Bearer resource_metadata="{at}"'

    async def _say(self, exchange: Exchange, message: Mapping[str, Any], reply: Reply) -> None:
        if reply.after is not None:
            await self._talk.until(reply.after)
        headers = dict(reply.headers)
        is_hello = exchange.method == "POST" and message.get("method") == "initialize"
        if is_hello and self._talk.plan.has_session:
            self._sessions += 1
            headers.setdefault("Mcp-Session-Id", f"the-id-of-session-{self._sessions}")
        if reply == DROPPED:
            await exchange.end(cut=True)
        elif reply.events is not None:
            await self._stream(exchange, message, reply, headers)
        elif reply.body is not None and not reply.status:
            exchange.write(reply.body)
        elif reply.body is not None:
            exchange.whole(reply.status, headers, reply.body)
        elif exchange.method == "POST" and "id" in message and "method" in message:
            headers.setdefault("Content-Type", "application/json")
            said = json.dumps(self._talk.answer(message, reply), separators=(",", ":"))
            exchange.whole(reply.status, headers, said.encode())
        else:
            usual = {"POST": 202, "GET": 405, "DELETE": 200}[exchange.method]
            exchange.whole(usual if reply.status == 200 else reply.status, headers, b"")
        if reply.cut and reply.events is None and reply != DROPPED:
            await exchange.end(cut=True)

    async def _stream(
        self,
        exchange: Exchange,
        message: Mapping[str, Any],
        reply: Reply,
        headers: Mapping[str, str],
    ) -> None:
        exchange.head(reply.status, {"Content-Type": "text/event-stream", **headers}, None)
        for part in reply.events or ():
            if isinstance(part, Await):
                await self._talk.until(part)
            else:
                exchange.piece(self._event(part, message, reply).encode())
        await exchange.end(cut=reply.cut)

    def _event(self, part: Any, message: Mapping[str, Any], reply: Reply) -> str:
        fields = part.fields if isinstance(part, Told) else ""
        said = part.message if isinstance(part, Told) else part
        if isinstance(said, str):
            return fields + said
        whole = self._talk.said(said, message, reply)
        return f"{fields}data: {json.dumps(whole, separators=(',', ':'))}\n\n"

    async def _say_by_sse(self, exchange: Exchange, message: Mapping[str, Any]) -> None:
        """Answer over legacy SSE: what a POST asks, its only stream answers."""
        key = key_of(message) if message else "GET"
        reply = self._talk.reply(key)
        if not message:
            self._channel = exchange
            usual = Reply(events=("event: endpoint\ndata: /messages\n\n", Await("the end")))
            await self._say(exchange, {}, usual if reply == Reply() else reply)
        elif reply.body is not None:
            exchange.whole(reply.status, reply.headers, reply.body)
        else:
            exchange.whole(202, {}, b"")
            parts = reply.events if reply.events is not None else (ANSWER,) * ("id" in message)
            for part in parts:
                self._channel.piece(self._event(part, message, reply).encode())
            if reply.cut:
                await self._channel.end(cut=True)

    # The authorization server

    async def _authorize(self, exchange: Exchange, path: str, body: bytes) -> None:
        reply = self._talk.reply(f"{exchange.method} {path}")
        query = parse_qs(urlsplit(exchange.target).query)
        if reply == DROPPED:
            await exchange.end(cut=True)
            return
        if reply != Reply():
            self._tokens += path == "/token" and reply.status == 200
            text = json.dumps(reply.result or {})
            text = text.replace(ORIGIN, f"http://127.0.0.1:{os.environ['PORT']}")
            kind = {"Content-Type": "application/json", **reply.headers}
            state = query.get("state", [""])[0]
            here = f"http://127.0.0.1:{os.environ['PORT']}"
            kind = {
                name: value.replace("{state}", state).replace(ORIGIN, here)
                for name, value in kind.items()
            }
            exchange.whole(reply.status, kind, text.encode() if reply.body is None else reply.body)
            return
        origin = f"http://127.0.0.1:{os.environ['PORT']}"
        form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        document: Any = None
        if path == "/.well-known/oauth-protected-resource/mcp":
            document = {"resource": f"{origin}/mcp", "authorization_servers": [origin]}
        elif path == "/.well-known/oauth-authorization-server":
            document = json.loads(json.dumps(self._metadata(origin)).replace(ORIGIN, origin))
        elif path == "/register":
            document = {**json.loads(body), "client_id": "client-1"}
        elif path == "/device":
            document = {"device_code": "the-device-code", "user_code": "ABCD-EFGH"}
            document.update(verification_uri=f"{origin}/enter", expires_in=600, interval=0.1)
        elif path == "/token":
            self._tokens += 1
            document = dict(_tokens(self._tokens, form, self._talk.plan))
        elif path == "/authorize":
            location = f"{_CODE_TARGET}?code=the-code-with-the-number-1&state={query['state'][0]}"
            exchange.whole(302, {"Location": location}, b"")
            return
        if document is None:
            exchange.whole(404, {}, b"")
            return
        exchange.whole(200, {"Content-Type": "application/json"}, json.dumps(document).encode())

    def _metadata(self, origin: str) -> dict[str, Any]:
        return {
            "issuer": origin,
            "authorization_endpoint": f"{origin}/authorize",
            "token_endpoint": f"{origin}/token",
            "registration_endpoint": f"{origin}/register",
            "device_authorization_endpoint": f"{origin}/device",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            **self._talk.plan.metadata,
        }


def _tokens(number: int, form: Mapping[str, str], plan: Plan) -> Iterator[tuple[str, Any]]:
    yield "access_token", f"the-token-with-the-number-{number}"
    yield "token_type", "Bearer"
    yield "expires_in", plan.token_seconds
    yield "refresh_token", f"the-refresh-token-with-the-number-{number}"
    if "scope" in form:
        yield "scope", form["scope"]


async def main(kind: str, plan: str) -> None:
    """Serve until the client, or whoever started this, ends it."""
    talk = Conversation(plan_of(plan))
    if kind == "stdio":
        await serve_stdio(talk)
        os._exit(0)
    answering: Any = HttpServer(talk)
    if kind == "ws":
        from conformance.capture.servers.scripted_websocket import WebSocketServer

        answering = WebSocketServer(talk)
    server = await asyncio.start_server(answering, "127.0.0.1", int(os.environ["PORT"]))
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
