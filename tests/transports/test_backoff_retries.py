"""Going on after failures that may pass."""

from __future__ import annotations

import asyncio

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
from mcpclient.transports.backoff import Retries, may_pass
from tests.support import virtual_time


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


def test_waits_grow_and_end() -> None:
    """F-API-14: five tries, each later than the one before, then the error itself."""

    async def main() -> list[float]:
        loop, retries, waited = asyncio.get_running_loop(), Retries(), []
        for _ in range(5):
            before = loop.time()
            await retries.wait_after(ConnectionLost("gone"))
            waited.append(loop.time() - before)
        with pytest.raises(ConnectionLost, match="gone"):
            await retries.wait_after(ConnectionLost("gone"))
        return waited

    waited = virtual_time.run(main())
    assert all(1 <= wait <= 40 for wait in waited) and waited == sorted(waited)


def test_success_begins_a_new_count() -> None:
    """F-API-14: failures that are not in a row are not the end."""

    async def main() -> None:
        retries = Retries()
        for _ in range(20):
            await retries.wait_after(ConnectionLost("gone"))
            retries.succeeded()

    virtual_time.run(main())


def test_a_servers_wish_to_be_left_alone_is_respected() -> None:
    """F-HTTP-7: Retry-After is the least to wait."""

    async def main() -> float:
        loop = asyncio.get_running_loop()
        await Retries().wait_after(http_error(503, **{"retry-after": "90"}))
        return loop.time()

    assert virtual_time.run(main()) == 90


def test_a_servers_wish_to_be_left_alone_ends_with_the_callers_time() -> None:
    """F-HTTP-7, F-API-7: a Retry-After of three years is waited for as long as there is time."""

    async def main() -> float:
        await Retries().wait_after(http_error(503, **{"retry-after": "99999999"}), 12)
        return asyncio.get_running_loop().time()

    assert virtual_time.run(main()) == 12


def test_what_does_not_pass_is_raised_at_once() -> None:
    """F-API-14: an error that stays is not waited for."""

    async def main() -> None:
        with pytest.raises(PeerError):
            await Retries().wait_after(PeerError(-32601, "no"))
        assert asyncio.get_running_loop().time() == 0

    virtual_time.run(main())
