"""The contract of a transport, as tests to be run against any implementation of `Transport`.

Subclass `TransportContract` in a test file and say how to reach a server::

    class TestMyTransport(TransportContract):
        @asynccontextmanager
        async def connection(self):
            async with some_server() as server:
                yield MyTransport(server.address)

The server is to behave like `tests.support.mcp_server.McpServer` (its tools ``echo``, ``never``,
``notify``, ``hold`` and ``ask``), which can be driven by any carrier.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from mcpclient.errors import McpError, UsageError
from mcpclient.jsonrpc.messages import Message
from mcpclient.protocol.eras import HandshakeEra
from mcpclient.protocol.negotiation import ClientIdentity
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.base import Abandoned, Transport
from tests.support.inbox import Inbox

# Seconds within which a transport with a well-behaved server has closed.
CLOSE_BOUND = 5.0

ERA = HandshakeEra("2025-11-25", ClientIdentity({"name": "contract", "version": "1"}))


def call(request_id: int, name: str, **arguments: Any) -> Outgoing:
    """A tool call as the handshake era words it."""
    params = {"name": name, "arguments": arguments}
    return ERA.request(request_id, "tools/call", params, None)


async def post(transport: Transport, outgoing: Outgoing) -> None:
    """Send, whether the transport does that at once or takes its time."""
    sending = transport.send(outgoing)
    if sending is not None:
        await sending


async def answered(transport: Transport, inbox: Inbox, outgoing: Outgoing) -> Message:
    """Send a request, and wait for the response to it."""
    await post(transport, outgoing)
    assert outgoing.request_id is not None
    return await inbox.answer_to(outgoing.request_id)


async def said(transport: Transport, inbox: Inbox, outgoing: Outgoing) -> str:
    """Send a tool call, and wait for the text of its result."""
    await post(transport, outgoing)
    assert outgoing.request_id is not None
    return await inbox.text_of(outgoing.request_id)


async def failed(transport: Transport, inbox: Inbox, outgoing: Outgoing) -> McpError:
    """Send a request, and wait for its failure."""
    with pytest.raises(McpError) as caught:
        await answered(transport, inbox, outgoing)
    return caught.value


class TransportContract:
    """The contract of every transport. F-EXT-1.

    ``one_channel``: all that the server sends comes in the order in which it was sent.
    """

    one_channel = True

    def connection(self) -> AbstractAsyncContextManager[Transport]:
        """Return a context with a transport that is not open yet, and the server it leads to."""
        raise AssertionError("a subclass says how to reach its server")

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[tuple[Transport, Inbox]]:
        """An open transport, which is closed in time."""
        async with self.connection() as transport:
            inbox = Inbox()
            await transport.open(inbox)
            await transport.listen({})
            try:
                yield transport, inbox
            finally:
                await asyncio.wait_for(transport.close(), CLOSE_BOUND)

    # Messages

    async def test_a_request_is_answered_once(self) -> None:
        async with self.opened() as (transport, inbox):
            await post(transport, call(1, "echo", text="hello"))
            assert await inbox.text_of(1) == "hello"
            await post(transport, call(2, "echo", text="again"))
            assert await inbox.text_of(2) == "again"
            assert len(inbox.messages) == 2
            assert not (inbox.failures or inbox.rejected or inbox.lost)

    async def test_an_error_answer_is_a_message_like_any_other(self) -> None:
        async with self.opened() as (transport, inbox):
            await post(transport, call(1, "no such tool"))
            assert (await inbox.answer_to(1))["error"]["code"] == -32602

    async def test_a_hundred_requests_at_once_are_all_answered(self) -> None:
        async with self.opened() as (transport, inbox):
            for number in range(1, 101):
                await post(transport, call(number, "echo", text=f"text {number}"))
            for number in range(1, 101):
                assert await inbox.text_of(number) == f"text {number}"

    async def test_answers_may_come_in_any_order(self) -> None:
        """F-LIFE-9: here the latest request is answered first."""
        async with self.opened() as (transport, inbox):
            for number in range(1, 11):
                await post(transport, call(number, "hold", of=10, text=f"held {number}"))
            for number in range(1, 11):
                assert await inbox.text_of(number) == f"held {number}"

    @pytest.mark.parametrize(
        "text",
        ["", "\u2028 \u2029 \x85", "a\nb\r\n\x00", "\U0001f600 ünïcödé", '"\\ {}[]', "\ufeff"],
        ids=["empty", "separators", "controls", "unicode", "quotes", "bom"],
    )
    async def test_every_text_arrives_unchanged(self, text: str) -> None:
        """F-WIRE-3: U+2028, U+2029 and U+0085 inside messages."""
        async with self.opened() as (transport, inbox):
            await post(transport, call(1, "echo", text=text))
            assert await inbox.text_of(1) == text

    async def test_a_large_message_arrives_whole(self) -> None:
        """Pain 19"""
        async with self.opened() as (transport, inbox):
            text = "0123456789abcdef" * 65536
            await post(transport, call(1, "echo", text=text))
            assert await inbox.text_of(1) == text

    async def test_what_json_cannot_carry_is_refused_and_nothing_else_suffers(self) -> None:
        """F-WIRE-7"""
        async with self.opened() as (transport, inbox):
            for value in (float("nan"), object(), "\ud800"):
                with pytest.raises(UsageError):
                    await post(transport, call(1, "echo", text=value))
            await post(transport, call(2, "echo", text="fine"))
            assert await inbox.text_of(2) == "fine"
            assert len(inbox.messages) == 1

    async def test_the_server_asks_and_is_answered(self) -> None:
        """F-API-10"""
        async with self.opened() as (transport, inbox):
            await post(transport, call(1, "ask", method="ping"))
            await inbox.until(lambda: inbox.notifications() == ["ping"])
            request = next(message for message in inbox.messages if "method" in message)
            answer = {"jsonrpc": "2.0", "id": request["id"], "result": {"pong": True}}
            await post(transport, ERA.answer(answer))
            assert await inbox.text_of(1) == "{'pong': True}"

    async def test_notifications_come_in_order_and_before_the_answer(self) -> None:
        """F-API-7, F-WIRE-8"""
        async with self.opened() as (transport, inbox):
            messages = [{"method": f"vendor/{number}", "params": {}} for number in range(20)]
            await post(transport, call(1, "notify", messages=messages))
            await inbox.answer_to(1)
            await inbox.until(lambda: len(inbox.messages) == 21)
            assert inbox.notifications() == [message["method"] for message in messages]
            assert not self.one_channel or inbox.messages[-1]["id"] == 1

    async def test_a_notification_needs_no_answer(self) -> None:
        async with self.opened() as (transport, inbox):
            await post(transport, ERA.notification("notifications/initialized", None))
            await post(transport, call(1, "echo", text="after it"))
            assert await inbox.text_of(1) == "after it"
            assert not (inbox.failures or inbox.rejected)

    # Giving up and closing

    async def test_a_request_given_up_disturbs_no_other(self) -> None:
        """F-API-8"""
        async with self.opened() as (transport, inbox):
            given_up = call(1, "never")
            await post(transport, given_up)
            assert isinstance(transport.abandon(given_up), Abandoned)
            assert isinstance(transport.abandon(given_up), Abandoned)
            await post(transport, call(2, "echo", text="next"))
            assert await inbox.text_of(2) == "next"
            assert not (inbox.failures or inbox.lost)

    async def test_closing_is_idempotent_and_final(self) -> None:
        """F-LIFE-6"""
        async with self.opened() as (transport, inbox):
            await post(transport, call(1, "never"))
            await asyncio.wait_for(transport.close(), CLOSE_BOUND)
            await asyncio.wait_for(transport.close(), CLOSE_BOUND)
            heard = len(inbox.messages)
            await asyncio.sleep(0)
            assert len(inbox.messages) == heard

    async def test_one_task_opens_and_another_closes(self) -> None:
        """F-LIFE-5: opened in one task, closed in another."""
        async with self.connection() as transport:
            inbox = Inbox()
            await asyncio.ensure_future(transport.open(inbox))
            await post(transport, call(1, "echo", text="x"))
            assert await inbox.text_of(1) == "x"
            await asyncio.wait_for(asyncio.ensure_future(transport.close()), CLOSE_BOUND)

    async def test_closing_what_was_never_open_is_nothing(self) -> None:
        """F-LIFE-5"""
        async with self.connection() as transport:
            transport.abort()
            await asyncio.wait_for(transport.close(), CLOSE_BOUND)

    async def test_abort_frees_everything_at_once(self) -> None:
        """F-LIFE-5: the guard of the test suite looks for leftovers."""
        async with self.opened() as (transport, _):
            await post(transport, call(1, "never"))
            transport.abort()
            transport.abort()

    async def test_a_closed_transport_can_be_opened_again(self) -> None:
        """F-LIFE-5: this is how a client reconnects."""
        async with self.opened() as (transport, inbox):
            await post(transport, call(1, "echo", text="first"))
            assert await inbox.text_of(1) == "first"
            await transport.close()
            fresh = Inbox()
            await transport.open(fresh)
            await post(transport, call(1, "echo", text="second"))
            assert await fresh.text_of(1) == "second"
            assert await inbox.text_of(1) == "first"

    async def test_it_says_what_it_connects_to(self) -> None:
        async with self.opened() as (transport, _):
            assert transport.name
            assert isinstance(transport.description, str) and transport.description
