"""One session: a server, a tap before it, and a driver that runs a script against the tap."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from conformance import peers
from conformance.capture.records import (
    AUTH_PORT,
    PAGE_PORT,
    PORT,
    Cleaner,
    Places,
    client_in,
    spoken_in,
)
from conformance.capture.taps import NOTE, Seen, with_port
from conformance.capture.taps.http import HttpTap
from conformance.capture.taps.stdio import read_seen
from conformance.capture.taps.websocket import WebSocketTap
from conformance.capture.targets import (
    OTHERS,
    PORT_ARGUMENT,
    PROJECT,
    NotInstalledError,
    Target,
    node_package,
    python_package,
    sdk_folder,
    target_of,
)
from conformance.scripts import (
    CLIENT2,
    CODEX,
    INSPECTOR,
    MCPCLIENT,
    PYTHON1,
    PYTHON2,
    SDK1,
    Script,
)
from conformance.workspace import free_port
from mcpclient.recording.transcript import TRANSCRIPT_VERSION, Record, write_line
from mcpclient.version import __version__

HERE = Path(__file__).parent

# The program of each driver, the package of its client, and the environment that has it.
DRIVERS = {
    SDK1: ("drive_sdk1.mjs", "@modelcontextprotocol/sdk", "node-sdks"),
    CLIENT2: ("drive_client2.mjs", "@modelcontextprotocol/client", "node-sdks"),
    PYTHON1: ("drive_python1", "mcp", "mcp1"),
    PYTHON2: ("drive_python2", "mcp", "mcp2"),
    INSPECTOR: ("drive_inspector", "@modelcontextprotocol/inspector", "node-hosts"),
    CODEX: ("drive_codex", "@openai/codex", "node-codex"),
    MCPCLIENT: ("drive_mcpclient", "mcpclient", ""),
}

CLIENT_INFO = {"name": "reference-client", "version": "1.0.0"}

# Real seconds for a server to listen, and for one script.
START_LIMIT = 60
SCRIPT_LIMIT = 120


@dataclass
class Session:
    """One script over one transport, in a folder of its own."""

    script: Script
    transport: str
    folder: Path
    """A folder with the files that servers work on: see `conformance.workspace`."""
    page: str
    """The address of a page of HTML."""

    def __post_init__(self) -> None:
        self.target: Target = target_of(self.script.server, self.transport)
        self._seen: list[Seen] = []
        self._page_port = urlsplit(self.page).port or 0
        self._ports: dict[int, int] = {self._page_port: PAGE_PORT}

    async def run(self) -> str:
        """Run the script and return the transcript."""
        async with self._tapped() as target:
            await asyncio.wait_for(self._drive(target), SCRIPT_LIMIT)
        cleaner = Cleaner(self._places())
        records = cleaner.records(self._seen)
        header = cleaner.header(self._header(records))
        return "".join(map(write_line, [header, *records]))

    def _places(self) -> Places:
        checkout = str(peers.TOP)
        return Places(self._ports, {str(self.folder): PROJECT, checkout: "/checkout"})

    # The server and the tap

    @contextlib.asynccontextmanager
    async def _tapped(self) -> AsyncIterator[dict[str, Any]]:
        """Put the tap in place, and yield the driver's description of the target."""
        if self.transport == "stdio":
            file = self.folder / "seen.jsonl"
            relay = str(HERE / "taps" / "stdio.py")
            command = map(self._here, self.target.command)
            yield {
                "process": {
                    "command": sys.executable,
                    # Isolated: the modules beside the relay have names of the standard library's.
                    "args": ["-I", relay, str(file), *command],
                    "env": self._environment(),
                    "cwd": str(peers.TOP),
                }
            }
            self._seen += [Seen(**members) for members in read_seen(file)]
            return
        # The tap's port and the server's own, and the same of an authorization server beside it.
        (port, server_port), (auth_port, auth_server_port) = self._free_ports(), self._free_ports()
        self._ports.update(dict.fromkeys((port, server_port), PORT))
        self._ports.update(dict.fromkeys((auth_port, auth_server_port), AUTH_PORT))
        behind = {port: server_port, auth_port: auth_server_port}
        variables = {"PORT": str(server_port), "AUTH_PORT": str(auth_server_port)}
        is_websocket = self.transport == "ws"
        tap: HttpTap | WebSocketTap = (
            WebSocketTap(port, server_port) if is_websocket else HttpTap(behind)
        )
        async with self._server(variables, server_port), tap.serving():
            yield {"url": self._url(port), "behind": behind}
        self._seen += tap.seen

    @staticmethod
    def _free_ports() -> tuple[int, int]:
        return free_port(), free_port()

    def _url(self, port: int) -> str:
        scheme = "ws" if self.transport == "ws" else "http"
        return f"{scheme}://127.0.0.1:{port}{self.target.path}"

    @contextlib.asynccontextmanager
    async def _server(self, variables: dict[str, str], port: int) -> AsyncIterator[None]:
        """Run a server that listens."""
        command = [
            self._here(part.replace(PORT_ARGUMENT, str(port))) for part in self.target.command
        ]
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=peers.TOP,
            env={**os.environ, **self._environment(), **variables},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            await asyncio.wait_for(_listening(process, port), START_LIMIT)
            yield
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()

    def _environment(self) -> dict[str, str]:
        return {name: self._here(value) for name, value in self.target.environment.items()}

    def _here(self, text: str) -> str:
        """Put the folder and the page of this session in for their placeholders."""
        text = text.replace(PROJECT, str(self.folder))
        return with_port(text.encode(), PAGE_PORT, self._page_port).decode()

    # The driver

    async def _drive(self, target: dict[str, Any]) -> None:
        program, _, environment = DRIVERS[self.script.driver]
        task = {
            "script": json.loads(self._here(json.dumps(self.script.as_json()))),
            "target": {"transport": self.transport, **target},
            "clientInfo": CLIENT_INFO,
        }
        driver = await asyncio.create_subprocess_exec(
            *_driver(program, environment),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=peers.TOP,
        )
        try:
            output, errors = await driver.communicate(json.dumps(task).encode())
        except BaseException:
            driver.kill()
            raise
        if driver.returncode:
            raise RuntimeError(f"the driver failed: {errors.decode().strip()[-2000:]}")
        for line in output.splitlines():
            facts = json.loads(line)
            self._seen.append(Seen(NOTE, "script", facts, nanoseconds=int(facts.pop("ns"))))

    # The header

    def _header(self, records: list[Record]) -> dict[str, Any]:
        _, package, environment = DRIVERS[self.script.driver]
        command = self._command()
        script = replace(self.script, transports=(self.transport,)).as_json()
        return {
            "transcript": TRANSCRIPT_VERSION,
            "transport": self.transport,
            "target": (command if self.transport == "stdio" else self._url(PORT)),
            "recorded": datetime.now(timezone.utc).date().isoformat(),
            "protocol_version": spoken_in(records),
            "client": {
                "package": _client_package(package, environment),
                "info": client_in(records) or CLIENT_INFO,
                "capabilities": self.script.client.get("capabilities", {}),
            },
            "server": {
                "name": self.target.name,
                "package": self.target.package,
                "command": command,
                "environment": {
                    name: self._portable(value) for name, value in self.target.environment.items()
                },
            },
            "script": script,
        }

    def _command(self) -> list[str]:
        """Return the command of the server as it reads on any machine."""
        program, *arguments = self.target.command
        if self.target.name in OTHERS and "-m" not in arguments:
            return [Path(program).name, *map(self._portable, arguments)]
        name = "node" if Path(program).name.startswith("node") else "python"
        return [name, *map(self._portable, arguments)]

    def _portable(self, text: str) -> str:
        """Leave out the folders that differ from one machine to another."""
        modules = peers.INSTALLED / "node-servers" / "node_modules"
        for folder in (str(modules), str(peers.TOP)):
            text = text.replace(folder + os.sep, "")
        return text


def _driver(program: str, environment: str) -> list[str]:
    if program.endswith(".mjs"):
        return [peers.node() or "node", str(HERE / program), str(sdk_folder())]
    if not environment:
        return [sys.executable, "-m", f"{__package__}.{program}"]
    # A program in Node is driven from outside.
    python = sys.executable if environment.startswith("node-") else peers.python(environment)
    if python is None or not peers.is_installed(environment):
        raise NotInstalledError(f"python -m conformance.peers install {environment}")
    return [python, "-E", "-s", "-B", "-m", f"{__package__}.{program}"]


def _client_package(package: str, environment: str) -> str:
    if not environment:
        return f"{package}=={__version__}"
    return (node_package if package.startswith("@") else python_package)(package, environment)


async def _listening(process: asyncio.subprocess.Process, port: int) -> None:
    while process.returncode is None:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return
        await asyncio.sleep(0.05)
    raise RuntimeError(f"the server exited with code {process.returncode}")
