"""A lane with something of our own between the client and its server: a sandbox, a bridge, a
gateway, or a session to which a bridge leads.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from mcpclient import CallToolResult, Client, Hooks, Sandbox, StopLadder
from mcpclient.errors import ToolError

from .calls import Call
from .lanes import LADDER, SERVER, Lane, send_signal, stop_task
from .ledger import Ledger

FRONTED = (
    ("sandbox", "handshake"),
    ("bridge", "handshake"),
    ("bridge", "stateless"),
    ("gateway", "stateless"),
    ("session", "handshake"),
)
"""What stands in front of a server, and the era in which it is used."""

_ROOT = Path(__file__).parents[3]
_MCPCLIENT = [sys.executable, "-m", "mcpclient"]
# A bridge takes a second or two to end a server that hangs.
_LADDER = StopLadder(close_input=6.0, terminate=6.0)


class FrontedLane(Lane):
    """A lane whose server is found among the processes of the machine by a mark of its own."""

    prefix = "fronted "
    connects_within = 20.0  # two programs start, one after the other

    def begin(self, ledger: Ledger) -> None:
        self._mark = f"soak={os.getpid()}-{self.kind}-{self._era}"
        self._folder = tempfile.TemporaryDirectory()
        self._ledger = ledger
        server = [*SERVER[:1], "-X", self._mark, *SERVER[1:], str(ledger.path)]
        self._commands = {
            "sandbox": server,
            "bridge": [*_MCPCLIENT, "bridge", "--", *server],
            "gateway": [*_MCPCLIENT, "bridge", "--config", self._configuration(server)],
            "session": [*_MCPCLIENT, "bridge", "@soak"],
        }
        if self.kind == "gateway":
            self.tool = "one__soak"
        if self.kind == "session":
            self._keeping = asyncio.ensure_future(self._keep_session(server))
        self._new_client()

    def _configuration(self, server: list[str]) -> str:
        path = Path(self._folder.name, "mcp.json")
        entry = {"command": server[0], "args": server[1:]}
        path.write_text(json.dumps({"mcpServers": {"one": entry}}))
        return str(path)

    def _make_client(self, hooks: Hooks) -> Any:
        options = {**self._options, "hooks": hooks, "stderr": "discard", "cwd": str(_ROOT)}
        if self.kind == "sandbox":
            folder = self._ledger.path.parent
            options.update(sandbox=Sandbox(read=[_ROOT], write=[folder]), stop_ladder=LADDER)
        else:
            options.update(stop_ladder=_LADDER, env=self._environment)
        return Client(self._commands[self.kind], **options)

    @property
    def _environment(self) -> dict[str, str]:
        return {"XDG_RUNTIME_DIR": self._folder.name, "XDG_CONFIG_HOME": self._folder.name}

    async def end(self) -> None:
        await super().end()
        if self._keeping is not None:
            await stop_task(self._keeping)
            await self._run("close", "@soak")
        for _ in range(100):
            if not any(self._servers()):
                break
            await asyncio.sleep(0.1)
        else:
            facts = [psutil.Process(each).as_dict(["ppid", "status"]) for each in self._servers()]
            self._violations.add(f"{self.name}: its server lives on: {facts}")
            for server in self._servers():
                send_signal(server, signal.SIGKILL)
        self._folder.cleanup()

    async def _close(self, client: Client) -> None:
        # A cancelled close kills a front at once, whose server would hang on.
        await asyncio.shield(super()._close(client))

    # The session

    async def _keep_session(self, server: list[str]) -> None:
        """Open the session again whenever it has ended, as it does with its server."""
        while True:
            await self._run("open", "@soak", "--", *server)
            while any(self._servers()):  # noqa: ASYNC110 - of another process
                await asyncio.sleep(0.3)

    async def _run(self, *words: str) -> None:
        devnull = asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(
            *(*_MCPCLIENT, *words), env=self._environment, cwd=_ROOT, stdout=devnull, stderr=devnull
        )
        try:
            await process.wait()
        finally:
            with suppress(ProcessLookupError):
                process.kill()

    async def _call(self, client: Any, call: Call) -> CallToolResult:
        if self.kind == "gateway" and call.act == "task":  # it has no tasks
            call = replace(call, act="echo")
        result = await super()._call(client, call)
        is_own = call.act == "fail" and call.token in result.text  # and not the gateway's
        if self.kind == "gateway" and result.is_error and not is_own:
            raise ToolError(self.tool, result)
        return result

    # Disturbances

    async def kill_server(self) -> None:
        """Kill the server, or stop its front."""
        front = super()._server_id()
        if self.kind == "sandbox" or front is None or self._random.random() < 0.7:
            await super().kill_server()
        else:
            self.kills += 1
            send_signal(front, signal.SIGTERM)

    def _server_id(self) -> int | None:
        return next(self._servers(), None)

    def _servers(self) -> Iterator[int]:
        # A front has the mark among its words as well, and whoever kills that one leaves a server.
        for process in psutil.process_iter(["cmdline"]):
            if (process.info["cmdline"] or ())[1:3] == ["-X", self._mark]:
                yield process.pid
