"""Waiting before trying again, and which failures may pass."""

from __future__ import annotations

import asyncio
import random

import pytest

from mcpclient.errors import (
    CallTimeout,
    ClientClosed,
    CommandNotFound,
    ConnectFailed,
    ConnectionLost,
    HttpError,
    McpError,
    PeerError,
    SessionExpired,
    UsageError,
)
from mcpclient.transports.backoff import MAX_TRIES, Retries, delays, may_pass

pytestmark = pytest.mark.virtual_time


@pytest.mark.parametrize(
    ("chance", "expected"), [(0.0, [1.0, 2.0, 4.0, 8.0, 16.0]), (1.0, [1.25, 2.5, 5.0, 10.0, 20.0])]
)
def test_exponential_with_jitter(
    chance: float, expected: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-HTTP-4: each delay twice the one before, a quarter more at most, five tries."""
    monkeypatch.setattr(random, "random", lambda: chance)
    assert list(delays()) == expected
    assert len(expected) == MAX_TRIES


def http_error(status: int, **headers: str) -> HttpError:
    return HttpError(status, headers, b"")


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (ConnectionLost("gone"), True),
        (ConnectFailed("there", "refused"), True),
        (CallTimeout("tasks/get", 30), True),
        (CommandNotFound(["x"], "not found", ""), False),
        (http_error(503), True),
        (http_error(429), True),
        (http_error(404), False),
        (SessionExpired(404, {}, b""), True),
        (http_error(401), False),
        (PeerError(-32603, "no"), False),
        (UsageError("no"), False),
        (ClientClosed(), False),
    ],
)
def test_which_failures_may_pass(error: McpError, passes: bool) -> None:
    """F-API-14: silence, a busy server and a forgotten session pass; a refusal does not."""
    assert may_pass(error) is passes


async def test_waits_grow_and_end() -> None:
    """F-API-14: five tries, each later than the one before, then the error itself."""
    loop, retries, waited = asyncio.get_running_loop(), Retries(), []
    for _ in range(5):
        before = loop.time()
        await retries.wait_after(ConnectionLost("gone"))
        waited.append(loop.time() - before)
    with pytest.raises(ConnectionLost, match="gone"):
        await retries.wait_after(ConnectionLost("gone"))
    assert all(1 <= wait <= 40 for wait in waited) and waited == sorted(waited)


async def test_success_begins_a_new_count() -> None:
    """F-API-14: failures that are not in a row are not the end."""
    retries = Retries()
    for _ in range(20):
        await retries.wait_after(ConnectionLost("gone"))
        retries.succeeded()


@pytest.mark.parametrize(("wish", "longest", "waits"), [("90", 1e6, 90), ("99999999", 12, 12)])
async def test_a_servers_wish_to_be_left_alone(wish: str, longest: float, waits: float) -> None:
    """F-HTTP-7, F-API-7: Retry-After is the least to wait, for as long as there is time."""
    await Retries().wait_after(http_error(503, **{"retry-after": wish}), longest)
    assert asyncio.get_running_loop().time() == waits


async def test_what_does_not_pass_is_raised_at_once() -> None:
    """F-API-14: an error that stays is not waited for."""
    with pytest.raises(PeerError):
        await Retries().wait_after(PeerError(-32601, "no"))
    assert asyncio.get_running_loop().time() == 0
