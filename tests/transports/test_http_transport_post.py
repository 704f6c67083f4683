"""One posted message and what becomes of it: answers, errors, event streams, and none of these."""

from __future__ import annotations

import asyncio

import pytest

from mcpclient.errors import MessageTooLarge
from tests.contract.transport_contract import ERA, call, post
from tests.support.http_server import Answer, Request
from tests.transports.test_streamable_http import failing, opened, result

pytestmark = pytest.mark.virtual_time


def test_an_event_over_the_limit_fails_its_call_at_once() -> None:
    """F-HTTP-3: an answer that was dropped for its size has come all the same."""

    async def long(request: Request, answer: Answer) -> None:
        answer.stream()
        answer.event(result(request, "x" * 5000))
        answer.end()

    assert isinstance(failing(long, max_message_size=4000), MessageTooLarge)


async def test_nothing_is_read_while_it_is_held() -> None:
    """F-BRIDGE-1: else messages for a slow host would pile up here."""

    async def stream(request: Request, answer: Answer) -> None:
        answer.stream()
        answer.event({"jsonrpc": "2.0", "method": "vendor/first"})
        await asyncio.sleep(2)
        answer.event(result(request))
        answer.end()

    async with opened({"POST /mcp": stream}) as (transport, inbox, _):
        await post(transport, call(1, "echo"))
        await inbox.until(lambda: inbox.messages)
        transport.hold(is_held=True)
        await asyncio.sleep(10)
        assert inbox.notifications() == ["vendor/first"] and len(inbox.messages) == 1
        transport.hold(is_held=False)
        assert await inbox.text_of(1) == "fine"


async def test_an_event_stream_may_answer_a_notification() -> None:
    """F-HTTP-3: some servers say something where 202 would do."""

    async def chatty(request: Request, answer: Answer) -> None:
        answer.stream()
        answer.event({"jsonrpc": "2.0", "method": "vendor/thanks"})
        answer.end()

    async with opened({"POST /mcp": chatty}) as (transport, inbox, _):
        await post(transport, ERA.notification("note", None))
        await inbox.until(lambda: inbox.notifications() == ["vendor/thanks"])
        await asyncio.sleep(1)
        assert not inbox.failures and not transport.posts
