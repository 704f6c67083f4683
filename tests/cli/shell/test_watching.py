"""What the shell shows of what happens meanwhile: logs and changes."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from mcpclient import Receiver
from mcpclient.cli.screen import LogLines
from mcpclient.protocol.outgoing import Outgoing
from tests.cli.in_process import ServerInProcess
from tests.cli.shell.in_shell import World, in_shell


class TellingServer(ServerInProcess):
    """It declares that its tools may change, and can tell anything."""

    async def open(self, receiver: Receiver) -> None:
        await super().open(receiver)
        self.subscribed = asyncio.Event()

    def tell(self, method: str, **params: Any) -> None:
        self._receiver.message_received({"jsonrpc": "2.0", "method": method, "params": params})

    def send(self, outgoing: Outgoing) -> None:
        message = outgoing.message
        if message["method"] in ("logging/setLevel", "resources/subscribe"):
            self._deliver({"jsonrpc": "2.0", "id": message["id"], "result": {}})
            self.subscribed.set()
        else:
            super().send(outgoing)

    def _deliver(self, message: dict[str, Any]) -> None:
        declared = message.get("result", {}).get("capabilities")
        if declared is not None:
            declared = {**declared, "resources": {"subscribe": True}, "logging": {}}
            message = {**message, "result": {**message["result"], "capabilities": declared}}
        super()._deliver(message)


def test_the_log_of_a_server() -> None:
    """F-SHOW-5: from a level on; afterwards it is as before."""
    server = TellingServer()
    logger = logging.getLogger("mcpclient.server")

    async def work(world: World) -> None:
        shown = LogLines(world.screen)
        logger.addHandler(shown)
        try:
            await world.run("log info")
            server.tell("notifications/message", level="info", data="an \x1b event")
            server.tell("notifications/message", level="debug", data="a detail")
            await world.run("ping", "log off")
            server.tell("notifications/message", level="info", data="unseen")
            await world.run("ping")
        finally:
            logger.removeHandler(shown)
        assert world.errors.getvalue() == "demo: an \\x1b event\n"
        assert logger.level == logging.NOTSET

    in_shell(work, servers={"demo": server}, protocol_version="2025-11-25")


def test_changes() -> None:
    """F-SHOW-5, F-API-14: as the server tells them, until the listening is cancelled."""
    server = TellingServer()

    async def work(world: World) -> None:
        assert await world.run("listen demo://readme") == ["[1] listening; end it with: cancel 1"]
        await server.subscribed.wait()
        await world.run("ping")
        server.tell("notifications/resources/updated", uri="demo://readme")
        await world.run("ping", "cancel 1")
        assert 'demo: resources/updated {"uri": "demo://readme"}' in world.errors.getvalue()
        await world.run("listen")
        assert "does not announce changes" in (await world.fail("wait 2"))[1]

    in_shell(work, servers={"demo": server}, protocol_version="2025-11-25")
