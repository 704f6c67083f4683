"""The client's interface to changes on the server: listening, in either era."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..lazy import OnDemand
from .requests import Requests

if TYPE_CHECKING:
    from ..protocol import listen as listening
    from . import feed as feeds
else:
    listening = OnDemand("..protocol.listen", __name__)
    feeds = OnDemand(".feed", __name__)


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

    def __init__(self, client: Requests, feed: feeds.Feed) -> None:
        self._client = client
        self._feed = feed
        self._unseen: tuple[str, ...] = feed.wanted.uris

    @property
    def acknowledged(self) -> listening.ListenFilter | None:
        """The changes that the server has agreed to report; None before it has."""
        return self._feed.acknowledged

    @property
    def refused(self) -> listening.ListenFilter:
        """The changes that were asked for and not agreed to; there will be no events of them."""
        return self._feed.refused

    async def open(self) -> Subscription:
        """Wait until the server has agreed. Idempotent.

        Raises `PeerError` when the server does not offer subscriptions, `CallTimeout` when it does
        not react, and what `request` raises.
        """
        await self._allow()
        await self._client._in_owner_loop(self._feed.open)
        return self

    async def _allow(self) -> None:
        """Let the hooks see which resources are subscribed to, once. Raises `CallRefused`."""
        for uri in self._unseen:
            await self._client._permit("resources/subscribe", uri)
        self._unseen = ()

    async def close(self) -> None:
        """End the subscription. Idempotent."""
        await self._client._in_owner_loop(self._feed.close)

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

    async def __anext__(self) -> listening.ListenEvent:
        if self._unseen:
            await self._allow()
        event = await self._client._in_owner_loop(self._feed.next)
        if event is None:
            raise StopAsyncIteration
        return event

    def __del__(self) -> None:
        try:
            if "_feed" in self.__dict__:  # not set if Ctrl-C came before it
                self._feed.drop()
        except Exception:  # modules may be empty when the interpreter ends
            pass


class Listening(Requests):
    """The methods that listen for changes."""

    def listen(
        self,
        *,
        tools: bool = False,
        prompts: bool = False,
        resources: bool = False,
        uris: Iterable[str] = (),
        tasks: Iterable[str] = (),
    ) -> Subscription:
        """Listen for changes of the lists of tools, prompts or resources, of the resources with
        these URIs, and of the tasks with these ids. See `Subscription`.

        Any number of listeners may be open at once. In the handshake era, a server that reports
        status changes of tasks reports those of all tasks.
        """
        if isinstance(uris, str) or isinstance(tasks, str):
            raise UsageError("uris and tasks are lists of strings")
        wanted = listening.ListenFilter(tools, prompts, resources, tuple(uris), tuple(tasks))
        if not wanted:
            raise UsageError("listen() needs something to listen for")
        return Subscription(self, feeds.Feed(self._connection, self._caller, wanted))

    async def subscribe_resource(self, uri: str) -> None:
        """Deliver updates of a resource to ``on_notification``, until `unsubscribe_resource`.

        It is a `listen` for this one resource, so it survives a reconnection. Raises what the
        server answers, `UsageError` when it agrees to nothing, or `ClientClosed`.
        """
        # Of a caller who may still wait for the server to agree.
        earlier = self._subscriptions.get(uri)
        if earlier is not None and earlier._feed.is_over:  # the client was closed, or the feed lost
            del self._subscriptions[uri]
            earlier = None
        subscription = earlier or self._subscriptions.setdefault(uri, self.listen(uris=[uri]))
        try:
            await subscription.open()
            if subscription.refused:
                raise subscription._feed.refusal or UsageError(
                    f"the server does not announce updates of {uri}"
                )
        except BaseException:
            if earlier is None:
                if self._subscriptions.get(uri) is subscription:
                    del self._subscriptions[uri]
                await subscription.close()
            raise

    async def unsubscribe_resource(self, uri: str) -> None:
        """Undo `subscribe_resource`."""
        subscription = self._subscriptions.pop(uri, None)
        if subscription is not None:
            await subscription.close()
