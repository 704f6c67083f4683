"""A server with state, for sessions that stay; its calls wait for each other, so no test sleeps.

``--alive FIFO``: hold the pipe open for as long as the process lives. ``--tell``: write to it when
the connection is open. ``--deaf``: stay when stdin has ended; ``--stubborn``: ignore SIGTERM.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.cli.eliciting_server import FORM
from tests.support.mcp_server import Json, OpenedServer, Send, send_text, serve_stdio

TOOLS = ("add", "never", "once_called", "once_cancelled", "both", "form", "die", "fail")
EVENTS = {"notifications/cancelled": "once_cancelled"}


class SessionServer(OpenedServer):
    """Its tools: ``add`` sums up. ``never`` is not answered; ``once_called`` is, when ``never`` was
    called, and ``once_cancelled``, when that was cancelled. ``both`` is answered when two callers
    have called it. ``form`` asks the user. ``die`` ends the process.
    """

    def __init__(self) -> None:
        super().__init__(
            capabilities={"tools": {"listChanged": True}, "resources": {"subscribe": True}}
        )
        schema = {"type": "object", "properties": {"amount": {"type": "integer"}}}
        tools = [{"name": name, "inputSchema": schema} for name in TOOLS]
        self.answers["tools/list"] = {"tools": tools}
        self.answers["ping"] = self.answers["resources/subscribe"] = {}
        self._total = 0
        self._held: dict[str, list[tuple[Json, Send]]] = {}
        self._seen: set[str] = set()

    def receive(self, message: Json, send: Send) -> None:
        super().receive(message, send)
        if message.get("method") == "notifications/initialized" and "--tell" in sys.argv:
            os.write(pipe.fileno(), b"+")
        event = EVENTS.get(message.get("method", ""))
        if event is not None:
            self._happened(event)

    def _happened(self, event: str) -> None:
        self._seen.add(event)
        for call, send in self._held.pop(event, []):
            send_text(call, send, event)

    def call_tool(self, message: Json, name: str, arguments: Json, send: Send) -> None:
        if name == "add":
            self._total += arguments.get("amount", 1)
            send_text(message, send, str(self._total))
        elif name == "never":
            self._happened("once_called")
        elif name == "die":
            os._exit(7)
        elif name in self._seen:
            send_text(message, send, name)
        elif name.startswith("once_"):
            self._held.setdefault(name, []).append((message, send))
        elif name == "both":
            waiting = self._held.setdefault(name, [])
            waiting.append((message, send))
            if len(waiting) == 2:
                for call, answer in waiting:
                    send_text(call, answer, str(call["params"]["arguments"]["amount"]))
        elif name == "form":
            self.ask_for(message, send, "elicitation/create", params=FORM)
        else:
            super().call_tool(message, name, arguments, send)


if __name__ == "__main__":
    if "--alive" in sys.argv:
        pipe = open(sys.argv[sys.argv.index("--alive") + 1], "wb")  # noqa: SIM115 - until the end
    if "--stubborn" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    serve_stdio(SessionServer())
    while "--deaf" in sys.argv:
        signal.pause()
