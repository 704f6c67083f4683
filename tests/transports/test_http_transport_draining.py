"""Responses that are read on after what they were for: few of them, and not for long."""

from __future__ import annotations

import asyncio

from mcpclient.transports.http_transport import Draining, PostedMessage
from tests.support.virtual_time import run


class Response(PostedMessage):
    """Notes when it was closed, and tells so as a post does."""

    def __init__(self, draining: Draining) -> None:
        self._draining = draining
        self.closed_at: float | None = None

    def abort(self) -> None:
        self._draining.discard(self)
        self.closed_at = asyncio.get_running_loop().time()


def test_the_oldest_of_too_many_is_closed() -> None:
    """F-HTTP-3: a server that ends none of them costs four sockets."""

    async def main() -> None:
        draining = Draining()
        responses = [Response(draining) for _ in range(6)]
        for response in responses:
            draining.add(response)
            draining.add(response)  # more of it has come
        assert [response.closed_at for response in responses] == [0, 0, None, None, None, None]
        await asyncio.sleep(31)
        assert [response.closed_at for response in responses[2:]] == [30] * 4

    run(main())


def test_one_that_ends_by_itself_makes_room() -> None:
    """F-HTTP-3: and without a limit of time, one stays for as long as the server likes."""

    async def main() -> None:
        draining = Draining(most=1, seconds=None)
        first, second = Response(draining), Response(draining)
        draining.add(first)
        draining.discard(first)
        draining.add(second)
        await asyncio.sleep(10_000)
        assert (first.closed_at, second.closed_at) == (None, None)

    run(main())
