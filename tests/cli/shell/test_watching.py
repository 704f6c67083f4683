"""What the shell shows of the log of a server."""

from __future__ import annotations

import logging
from typing import Any

from mcpclient.cli.screen import LogLines
from mcpclient.protocol.outgoing import Outgoing
from tests.cli.in_process import ServerInProcess
from tests.cli.shell.in_shell import World, in_shell


class TellingServer(ServerInProcess):
    """It declares that it has a log, and can tell anything."""

    def tell(self, method: str, **params: Any) -> None:
        self._receiver.message_received({"jsonrpc": "2.0", "method": method, "params": params})

    def send(self, outgoing: Outgoing) -> None:
        message = outgoing.message
        if message["method"] == "logging/setLevel":
            self._deliver({"jsonrpc": "2.0", "id": message["id"], "result": {}})
        else:
            super().send(outgoing)

    def _deliver(self, message: dict[str, Any]) -> None:
        declared = message.get("result", {}).get("capabilities")
        if declared is not None:
            declared = {**declared, "logging": {}}
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
