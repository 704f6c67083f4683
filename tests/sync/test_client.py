"""F-API-18: the blocking client."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import mcpclient
from mcpclient import ClientClosed, PeerError, sync
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


def test_one_shot_calls() -> None:
    """F-API-21."""
    version: Any = {"protocol_version": "2025-11-25"}
    found = sync.call(ToolServer().transport(), "echo", {"message": "x"}, **version)
    assert found.text == "x"
    assert len(sync.list_tools(ToolServer().transport(), **version)) == 2


def test_a_future_that_is_cancelled_at_once_is_never_begun() -> None:
    server = ToolServer()
    with server.connected() as client:
        futures = [client.submit("call_tool", "never") for _ in range(20)]
        assert all(future.cancel() for future in futures)
        client.call_tool("echo", {"message": "x"})
        cancelled = server.sent("notifications/cancelled")
        assert len(cancelled) == len(server.sent("tools/call")) - 1


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
