"""The process of a session, with its callers in the same loop."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from mcpclient import Client, ConnectionLost, HttpError, PeerError, SessionExpired, UsageError
from mcpclient.client.connection.options import Wiring
from mcpclient.client.requests import connection_of
from mcpclient.sessions import open_session
from mcpclient.sessions.open_session import OpenSession, SessionTransport
from mcpclient.sessions.sockets import Place, ask, listen
from mcpclient.transports.inprocess import InProcessTransport, ServerEnd
from mcpclient.version import __version__
from tests.support.mcp_server import McpServer

pytestmark = [pytest.mark.needs_posix, pytest.mark.virtual_time]


@pytest.fixture(autouse=True)
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix="mc", dir="/tmp")  # pytest's are too long for sockets
    monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
    yield folder
    shutil.rmtree(folder)


class Server(McpServer):
    """Its resources can be subscribed to; ``received`` tells what has come."""

    def __init__(self, era: str) -> None:
        super().__init__(era)
        self.capabilities = {"tools": {}, "resources": {"subscribe": True}, "logging": {}}
        self.end: ServerEnd | None = None
        self._came: dict[str, asyncio.Event] = {}
        for method in ("resources/subscribe", "resources/unsubscribe"):
            self.answers[method] = {}

    async def came(self, method: str) -> None:
        """Wait until a message with this method has come, or an answer with this id."""
        await self._came.setdefault(method, asyncio.Event()).wait()

    def receive(self, message: Any, send: Any) -> None:
        super().receive(message, send)
        name = message.get("method", message.get("id"))
        self._came.setdefault(name, asyncio.Event()).set()

    async def serve(self, end: ServerEnd) -> None:
        self.end = end
        await super().serve(end)

    def take_other(self, message: Any, params: Any, send: Any) -> None:
        if message["method"] == "subscriptions/listen":
            meta = {"io.modelcontextprotocol/subscriptionId": message["id"]}
            told = {"_meta": meta, "notifications": {"resourceSubscriptions": ["x:1"]}}
            method = "notifications/subscriptions/acknowledged"
            send({"jsonrpc": "2.0", "method": method, "params": told})
            changed = {"_meta": meta, "uri": "x:1"}
            method = "notifications/resources/updated"
            send({"jsonrpc": "2.0", "method": method, "params": changed})
        else:
            super().take_other(message, params, send)


@asynccontextmanager
async def session(server: Server, **options: Any) -> AsyncIterator[OpenSession]:
    """An open session called ``it``."""
    place = Place.of("it", os.environ)
    listener, token = listen(place)

    def make_client(wiring: Wiring) -> Client:
        given: dict[str, Any] = {"_wiring": wiring}
        return Client(InProcessTransport(server.serve), **given)

    kept = OpenSession("it", make_client, token, options.pop("idle", 0.0))
    serving = await kept.serve(listener)
    try:
        async with kept.client:
            kept.opened.set_result(None)
            yield kept
            kept.end()
    finally:
        serving.close()
        for caller in kept.callers:
            caller.transport.abort()
        await asyncio.sleep(0)  # now the sockets are closed


def joined(**options: Any) -> Client:
    return Client(SessionTransport("it"), **options)


@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_a_caller_talks_to_the_server(era: str) -> None:
    """F-SHOW-12: in the era and with the words of the session, without another handshake."""
    server = Server(era)
    async with session(server) as kept:
        before = [each["id"] for each in server.received if "id" in each]
        async with joined() as client:
            assert [each["id"] for each in server.received if "id" in each] == before
            assert client.protocol_version == kept.client.protocol_version
            assert client.server_info.name == "test-server"
            assert client.transport_name == "in-process"
            assert [tool.name for tool in await client.list_tools()] == ["echo"]
            assert (await client.call_tool("echo", {"text": "hi"})).text == "hi"
            await client.notify("notifications/x", {"y": 1})
            await server.came("notifications/x")
            await kept.client.call_tool("echo", {"text": ""})  # from here on its ids are others
            steps: list[float] = []
            await client.call_tool(
                "progress", {"steps": 3}, on_progress=lambda each: steps.append(each.progress)
            )
            assert steps == [1, 2, 3]
            with pytest.raises(PeerError, match="Unknown tool"):
                await client.call_tool("nope")
            await client.ping()
        assert kept.client.is_connected


async def test_a_question_goes_to_the_caller_whose_call_is_the_latest() -> None:
    """F-SHOW-12: and a question without a user is refused."""
    async with session(server := Server("handshake")):
        asked: list[str] = []

        def answer(name: str) -> Any:
            def handle(request: Any) -> dict[str, int]:
                asked.append(name)
                return {"n": 1}

            return handle

        caller = joined(elicitation=answer("first"))
        async with caller as first, joined(elicitation=answer("second")) as second:
            waiting = asyncio.ensure_future(first.call_tool("never"))
            await server.came("tools/call")
            schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
            params = {"message": "n?", "requestedSchema": schema}
            question = {"method": "elicitation/create", "params": params}
            result = await second.call_tool("ask", question)
            assert "'action': 'accept'" in result.text
            assert asked == ["second"]
            waiting.cancel()
            sample = {"method": "sampling/createMessage", "params": {}}
            assert "-32601" in (await second.call_tool("ask", sample)).text
            await server.came("notifications/cancelled")
            assert server.end is not None
            server.end.send({"jsonrpc": "2.0", "id": "q", **question})
            await server.came("q")
            refused = next(each for each in server.received if each.get("id") == "q")
            assert "no call of this session" in refused["error"]["message"]


async def test_a_caller_who_leaves_cancels() -> None:
    """F-SHOW-12: the call, the question to the user, and the subscriptions."""
    async with session(server := Server("handshake")) as kept:
        client = await joined()
        async with client.listen(uris=["x:1"]):
            calling = asyncio.ensure_future(client.call_tool("never"))
            await server.came("tools/call")
            kept.callers[0].transport.abort()
            with pytest.raises(ConnectionLost):
                await calling
        await server.came("notifications/cancelled")
        await server.came("resources/unsubscribe")
        await client.close()


async def test_a_question_ends_with_its_caller_or_with_the_server() -> None:
    """F-SHOW-12: the user is asked no longer than the server waits, and the other way round."""
    async with session(server := Server("handshake")) as kept:
        news: asyncio.Queue[str] = asyncio.Queue()

        async def answer(request: Any) -> None:
            news.put_nowait(f"asked {request.message}")
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                news.put_nowait(f"withdrew {request.message}")

        client = await joined(elicitation=answer)
        calling = asyncio.ensure_future(client.call_tool("never"))
        await server.came("tools/call")
        assert server.end is not None
        for name in ("one", "two"):
            schema = {"type": "object", "properties": {}}
            params: dict[str, Any] = {"message": name, "requestedSchema": schema}
            question = {"method": "elicitation/create", "params": params}
            server.end.send({"jsonrpc": "2.0", "id": name, **question})
            assert await news.get() == f"asked {name}"
        told = {"requestId": "one"}
        message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": told}
        server.end.send(message)
        assert await news.get() == "withdrew one"
        (caller,) = kept.callers
        assert len(caller._asked) == 1
        caller.transport.abort()
        await server.came("two")
        answered = next(each for each in server.received if each.get("id") == "two")
        assert answered["error"]["message"] == "the user has left"
        with pytest.raises(ConnectionLost):
            await calling
        await client.close()


async def test_a_resource_stays_subscribed_for_the_others() -> None:
    """F-SHOW-12: the last one to leave unsubscribes."""
    async with session(server := Server("handshake")), joined() as one, joined() as two:
        await one.subscribe_resource("x:1")
        await two.subscribe_resource("x:1")
        await one.unsubscribe_resource("x:1")
        assert not server.messages("resources/unsubscribe")
        await two.unsubscribe_resource("x:1")
        assert len(server.messages("resources/unsubscribe")) == 1


async def test_an_expired_session_is_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-SHOW-12: of a remote server, whose callers notice nothing; other errors reach them."""
    async with session(server := Server("handshake")) as kept, joined() as client:
        upstream = connection_of(kept.client).session
        answer_to, failures = (
            upstream.answer_to,
            [SessionExpired(404, {}, b""), HttpError(501, {}, b"")],
        )

        async def once(sent: Any) -> dict[str, Any]:
            if failures:
                upstream.give_up(sent)
                raise failures.pop()
            return await answer_to(sent)

        monkeypatch.setattr(upstream, "answer_to", once)
        with pytest.raises(HttpError, match="501"):
            await client.call_tool("echo", {})
        assert (await client.call_tool("echo", {"text": "hi"})).text == "hi"
        assert len(server.messages("initialize")) == 2


async def test_a_caller_cancels_a_call() -> None:
    """F-SHOW-12: as any client does, and the others go on."""
    async with session(server := Server("handshake")), joined() as client:
        calling = asyncio.ensure_future(client.call_tool("never"))
        await server.came("tools/call")
        calling.cancel()
        await server.came("notifications/cancelled")
        assert (await client.call_tool("echo", {"text": "on"})).text == "on"


async def test_notifications_reach_all_callers() -> None:
    """F-SHOW-12: but no stranger, and events of a subscription only its owner."""
    heard: list[asyncio.Event] = [asyncio.Event(), asyncio.Event()]
    async with session(Server("handshake")):
        stranger, writer = await asyncio.open_unix_connection(Place.of("it", os.environ).link)
        one, two = (joined(on_notification=lambda *_, e=each: e.set()) for each in heard)
        async with one as first, two:
            told = {"method": "notifications/prompts/list_changed"}
            await first.call_tool("notify", {"messages": [told]})
            for each in heard:
                await each.wait()
    assert await stranger.read() == b""
    writer.close()
    async with session(Server("stateless")) as kept, joined() as first, joined():
        subscription = await first.listen(uris=["x:1"]).open()
        event = await subscription.__anext__()
        assert getattr(event, "uri", "") == "x:1"
        await subscription.close()
        await first.call_tool("echo", {"text": ""})
        assert not kept.subscriptions


async def test_an_idle_session_ends() -> None:
    """F-SHOW-12: after half an hour without a caller, and not while there is one."""
    loop = asyncio.get_running_loop()
    async with session(Server("handshake"), idle=1800.0) as kept:
        await asyncio.sleep(1700)
        async with joined():
            await asyncio.sleep(5000)
            assert not kept.over.done()
        left = loop.time()
        assert await kept.over is None
        assert loop.time() - left == pytest.approx(1800, abs=1)
    async with session(Server("handshake"), idle=1800.0) as kept:
        assert await kept.over is None  # without a caller


async def test_the_end_of_a_session_tells_why() -> None:
    """F-SHOW-12: to all calls in flight."""
    async with session(server := Server("handshake")) as kept, joined() as client:
        calling = asyncio.ensure_future(client.call_tool("never"))
        await server.came("tools/call")
        kept.end(ConnectionLost("it fell over"))
        with pytest.raises(ConnectionLost, match="it fell over"):
            await calling


def test_a_session_is_asked_and_closed() -> None:
    """F-SHOW-12: by any version, without joining."""

    async def scenario() -> None:
        async with session(Server("handshake")) as kept:
            place = Place.of("it", os.environ)
            state = await asyncio.to_thread(ask, place, "mcpclient/state")
            assert state is not None
            assert (state["name"], state["callers"]) == ("it", 0)
            closing = asyncio.ensure_future(asyncio.to_thread(ask, place, "mcpclient/close"))
            assert await kept.over is None
            for caller in kept.callers:
                caller.transport.abort()
            await closing

    asyncio.run(scenario())


def greeting(token: str) -> bytes:
    params = {"version": __version__, "token": token}
    return json.dumps({"id": 0, "method": "mcpclient/join", "params": params}).encode() + b"\n"


@pytest.mark.parametrize(
    "sent",
    [b"no JSON\n", b"[]\n", *map(greeting, ("x", "", "secre", "secret ", "Secret", "secrets"))],
)
async def test_a_stranger_is_dropped(sent: bytes) -> None:
    """F-SHOW-12: what is not a greeting with the right token ends the connection."""
    async with session(Server("handshake")) as kept:
        kept.token = "secret"
        reader, writer = await asyncio.open_unix_connection(Place.of("it", os.environ).link)
        writer.write(sent)
        with suppress(ConnectionError):
            assert await reader.read() == b""
        writer.close()
        assert not any(caller.joined for caller in kept.callers)


async def test_another_user_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-SHOW-12: before a word is read."""
    async with session(Server("handshake")):
        monkeypatch.setattr(open_session, "is_own_peer", lambda connection: False)
        with pytest.raises(UsageError, match="no session @it"):
            await joined()


async def test_a_remote_server_is_reached_anew() -> None:
    """F-SHOW-12: only a process takes its state with it when it ends."""
    async with session(server := Server("handshake")) as kept, joined() as client:
        assert server.end is not None
        for each in (client, joined()):  # the second one joins meanwhile
            transport = connection_of(kept.client).session.transport
            transport._receiver.connection_lost(ConnectionLost("cut"))  # type: ignore[attr-defined]
            assert not kept.over.done()
            async with each:
                assert (await each.call_tool("echo", {"text": "again"})).text == "again"


async def test_a_caller_who_does_not_read_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-SHOW-12: and costs no memory."""
    monkeypatch.setattr(open_session, "_MAX_UNREAD", -1)
    async with session(Server("handshake")):
        with pytest.raises(UsageError, match="no session"):
            await joined()
