"""F-API-18: the blocking client."""

from __future__ import annotations

import inspect
import threading
from typing import Any

import pytest

import mcpclient
from mcpclient import ClientClosed, PeerError, UsageError, sync
from mcpclient.protocol.listen import ToolsChanged
from tests.client.listening_server import LISTEN, TOOLS, ListeningServer
from tests.sync.calling import ToolServer


def test_it_does_what_the_asynchronous_client_does() -> None:
    """F-API-1, F-API-2, F-API-20: with the same results and errors."""
    client = sync.Client(ToolServer().transport(), protocol_version="2025-11-25")
    assert not client.is_connected
    with pytest.raises(ClientClosed):
        client.call_tool("echo")
    with client as entered:
        assert entered is client and client.connect() is client
        assert client.is_connected and client.server_info.name == "scripted"
        assert [tool.name for tool in client.list_tools()] == ["echo", "never"]
        assert client.call_tool("echo", {"message": "x"}).text == "x"
        with pytest.raises(PeerError):
            client.list_prompts()
        assert repr(client).startswith("<mcpclient.sync.Client in-process")
        assert isinstance(client.async_client, mcpclient.Client)
    assert not client.is_connected
    client.close()


def test_connect_connects_or_raises() -> None:
    """F-API-18: a module-level client for all threads of a web server is one line."""
    client = ToolServer().connected()
    assert client.is_connected
    client.close()
    with pytest.raises(mcpclient.CommandNotFound):
        sync.connect(["no-such-command-anywhere"])
    with pytest.raises(UsageError, match="did you mean 'timeout'"):
        sync.connect(["x"], timeuot=3)  # type: ignore[call-arg]


def test_one_shot_calls() -> None:
    """F-API-21."""
    version: Any = {"protocol_version": "2025-11-25"}
    found = sync.call(ToolServer().transport(), "echo", {"message": "x"}, **version)
    assert found.text == "x"
    assert len(sync.list_tools(ToolServer().transport(), **version)) == 2


def test_handlers_of_one_shot_calls_may_block() -> None:
    """F-API-21, F-API-18: they run in a worker, as those of a client do."""
    threads: list[str] = []

    def hook(call: Any, proceed: Any) -> Any:
        threads.append(threading.current_thread().name)
        return proceed(call)

    found = sync.call(ToolServer().transport(), "echo", {"message": "x"}, around=[hook])
    assert (found.text, threads) == ("x", ["mcpclient-handler"])


def test_many_calls_at_once_by_submit() -> None:
    """F-API-18: futures of concurrent.futures, without threads of one's own."""
    with ToolServer().connected() as client:
        made = [client.submit("call_tool", "echo", {"message": str(n)}) for n in range(20)]
        assert [each.result(5).text for each in made] == [str(n) for n in range(20)]
        failing = client.submit("list_prompts")
        assert isinstance(failing.exception(5), PeerError)
        assert client.submit("connect").result(5) is client
        for name in ("no_such_method", "listen", "_request", "is_connected", "__aenter__"):
            with pytest.raises(UsageError, match="no blocking method"):
                client.submit(name)


def test_a_future_that_is_cancelled_at_once_is_never_begun() -> None:
    server = ToolServer()
    with server.connected() as client:
        futures = [client.submit("call_tool", "never") for _ in range(20)]
        assert all(future.cancel() for future in futures)
        client.call_tool("echo", {"message": "x"})
        cancelled = server.sent("notifications/cancelled")
        assert len(cancelled) == len(server.sent("tools/call")) - 1


def test_listening_is_an_iterator() -> None:
    """F-API-14, F-API-18: with, for, and an end from another thread."""
    server = ListeningServer()
    transport = mcpclient.InProcessTransport(server.serve)
    with (
        sync.connect(transport, protocol_version=server.version) as client,
        client.listen(tools=True) as subscription,
    ):
        assert subscription.acknowledged is not None and subscription.acknowledged.tools
        (request,) = server.ids(LISTEN)
        client.async_client._connection.loop.call_soon_threadsafe(  # type: ignore[union-attr]
            server.tell, request, TOOLS
        )
        events = []
        for event in subscription:
            events.append(event)
            threading.Thread(target=subscription.close).start()
        assert [type(event) for event in events] == [ToolsChanged]
        assert isinstance(subscription, sync.Subscription)


def test_its_methods_have_the_documentation_and_signatures_of_the_asynchronous_ones() -> None:
    """F-API-18: what ``help()`` shows."""
    for name, member in vars(mcpclient.Client).items():
        if not name.startswith("_") and inspect.iscoroutinefunction(member):
            blocking = getattr(sync.Client, name)
            assert not inspect.iscoroutinefunction(blocking), name
            assert blocking.__doc__ == member.__doc__, name
            assert inspect.signature(blocking) == inspect.signature(member), name


def test_a_name_that_there_is_not_is_said() -> None:
    """F-API-18: the blocking package lists its names, and knows no others."""
    assert set(sync.__dir__()) >= {"connect", "Client", "Manager"}
    with pytest.raises(AttributeError, match="conect"):
        getattr(sync, "conect")  # noqa: B009 - a type checker knows it, too
