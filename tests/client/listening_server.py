"""Servers that report changes, for the tests of listening: one for each era."""

from __future__ import annotations

import asyncio
from typing import Any

from mcpclient.client.subscription import Subscription
from mcpclient.protocol.listen import ListenEvent
from tests.client.scripted_server import HANDSHAKE, ScriptedServer

LISTEN = "subscriptions/listen"
TOOLS = "notifications/tools/list_changed"
UPDATED = "notifications/resources/updated"
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"
CHANGING = {"listChanged": True}


class ListeningServer(ScriptedServer):
    """Acknowledges subscriptions, and tells those that want it of changes.

    ``granted``: what it agrees to, None for everything. ``acknowledges``: whether it does at all.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__({LISTEN: self._listen}, **options)
        self.granted: dict[str, Any] | None = None
        self.acknowledges = True

    def _listen(self, params: dict[str, Any]) -> None:
        if self.acknowledges:
            self.acknowledge(self.ids(LISTEN)[-1], self.granted or params["notifications"])

    def acknowledge(self, subscription: object, granted: dict[str, Any]) -> None:
        self.tell(subscription, "notifications/subscriptions/acknowledged", notifications=granted)

    def tell(self, subscription: object, method: str, **params: Any) -> None:
        self.notify(method, _meta={SUBSCRIPTION_ID: subscription}, **params)


def handshake_server(**capabilities: Any) -> ScriptedServer:
    capabilities = capabilities or {"tools": CHANGING, "resources": {"subscribe": True}}
    server = ScriptedServer(version=HANDSHAKE, capabilities=capabilities)
    server.answers["resources/subscribe"] = {}
    server.answers["resources/unsubscribe"] = {}
    return server


async def next_event(subscription: Subscription) -> ListenEvent:
    return await asyncio.wait_for(subscription.__anext__(), 100)
