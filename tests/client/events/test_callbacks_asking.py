"""Calling a handler of the caller's."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcpclient.client.events.callbacks import ask
from mcpclient.errors import HandlerFailed, PeerError


async def double(value: int) -> int:
    await asyncio.sleep(0)
    return value * 2


def raises(error: BaseException) -> Any:
    def handler() -> None:
        raise error

    return handler


@pytest.mark.parametrize("handler", [double, lambda value: value * 2, lambda value: double(value)])
def test_plain_or_async(handler: Any) -> None:
    """F-API-10: a plain function, a coroutine function, or one that returns an awaitable."""
    assert asyncio.run(ask("m", handler, 21)) == 42


def test_an_exception_becomes_a_failure_without_its_text() -> None:
    """F-API-10: the server learns the type only; the caller finds the rest in the cause."""
    error = KeyError("s3cret")
    with pytest.raises(HandlerFailed) as caught:
        asyncio.run(ask("roots/list", raises(error)))
    assert (caught.value.method, caught.value.code) == ("roots/list", -32603)
    assert caught.value.reason == "its handler raised KeyError"
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is error


def test_an_error_meant_for_the_server() -> None:
    """F-API-10: a handler may say which error to answer with."""
    with pytest.raises(HandlerFailed) as caught:
        asyncio.run(ask("m", raises(PeerError(-1, "no, thank you"))))
    assert (caught.value.code, caught.value.reason) == (-1, "no, thank you")


def test_a_failure_stays_what_it_is() -> None:
    """F-API-10"""
    failure = HandlerFailed("m", "because")
    with pytest.raises(HandlerFailed) as caught:
        asyncio.run(ask("m", raises(failure)))
    assert caught.value is failure


async def test_cancelling_is_no_failure() -> None:
    """F-API-10: a handler that hangs can be cancelled."""

    async def hang() -> None:
        await asyncio.get_running_loop().create_future()

    task = asyncio.ensure_future(ask("m", hang))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
