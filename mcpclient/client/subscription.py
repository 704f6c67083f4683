"""The changes that a server reports, for a caller who iterates over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..protocol.listen import ListenEvent, ListenFilter
    from .feed import Feed
    from .requests import Requests


class Subscription:
    """The changes that a server reports, as they come: an async iterator of `ListenEvent`.

    ``async with client.listen(…) as subscription`` waits until the server has agreed, and ends the
    subscription at the end of the block. A bare ``async for event in client.listen(…)`` does the
    same for its loop.

    The iteration ends when the server ends the subscription in good order, and when either side of
    it is closed here. A connection that is lost later is reopened, with growing pauses, and an
    `EventsMissed` reports it; after five failures in a row without an event between them, the last
    one is raised. An error that a retry would not change is raised at once.

    Over HTTP in the handshake era, a server reports changes on a channel of its own (GET), and with
    the answers to calls; without such a channel an idle client gets no events. The loss of the
    channel is an error, raised once. Iterating on yields the changes that come with answers, and
    all of them in a later session; another `listen` opens the channel again.

    A consumer that is slower than the server loses nothing, but of several events of one kind about
    one subject it gets only the latest. Changes of a list are gathered for 300 ms, and for longer
    (30 s at most) while they go on without a pause.
    """

    def __init__(self, client: Requests, feed: Feed) -> None:
        self._client = client
        self._feed = feed
        self._unseen: tuple[str, ...] = feed.wanted.uris

    @property
    def acknowledged(self) -> ListenFilter | None:
        """The changes that the server has agreed to report; None before it has."""
        return self._feed.acknowledged

    @property
    def refused(self) -> ListenFilter:
        """The changes that were asked for and not agreed to; there will be no events of them."""
        from ..protocol.listen import ListenFilter

        return self._feed.wanted.without(self._feed.acknowledged or ListenFilter())

    async def open(self) -> Subscription:
        """Wait until the server has agreed. Idempotent.

        Raises `PeerError` when the server does not offer subscriptions, `CallTimeout` when it does
        not react, and what `request` raises.
        """
        await self._allow()
        await self._client._home.run(self._feed.open)
        return self

    async def _allow(self) -> None:
        """Let the hooks see which resources are subscribed to, once. Raises `CallRefused`."""
        for uri in self._unseen:
            await self._client._permit("resources/subscribe", uri)
        self._unseen = ()

    async def close(self) -> None:
        """End the subscription. Idempotent."""
        await self._client._home.run(self._feed.close)

    async def __aenter__(self) -> Subscription:
        try:
            return await self.open()
        except BaseException:
            await self.close()
            raise

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> ListenEvent:
        await self._allow()
        event = await self._client._home.run(self._feed.next)
        if event is None:
            raise StopAsyncIteration
        return event

    def __del__(self) -> None:
        try:
            if "_feed" in self.__dict__:  # not set if Ctrl-C came before it
                self._feed.drop()
        except Exception:  # modules may be empty when the interpreter ends
            pass
