"""The servers that scripts name, and how each of them starts for a transport."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from conformance import peers
from mcpclient.version import __version__

OWN = Path(__file__).parent / "servers"

# The servers of `conformance.peers`, by transport.
REFERENCE_SERVERS = {
    "everything": {
        "stdio": "everything-stdio",
        "http": "everything-http",
        "sse": "everything-sse",
    },
    "filesystem": {"stdio": "filesystem"},
    "memory": {"stdio": "memory"},
    "sequential-thinking": {"stdio": "sequential-thinking"},
    "time": {"stdio": "time"},
    "time-mcp-1.8": {"stdio": "time-mcp-1.8"},
    "time-mcp-1.9": {"stdio": "time-mcp-1.9"},
    "git": {"stdio": "git"},
    "fetch": {"stdio": "fetch"},
    "mcp1": {"stdio": "mcp1-stdio", "http": "mcp1-http", "sse": "mcp1-sse"},
    "mcp1-stateless": {"http": "mcp1-http-stateless"},
    "mcp1-json": {"http": "mcp1-http-json"},
    "mcp1-moved": {"http": "mcp1-http"},
    "mcp2": {"stdio": "mcp2-stdio", "http": "mcp2-http", "sse": "mcp2-sse"},
    "mcp2-stateless": {"http": "mcp2-http-stateless"},
    "mcp2-json": {"http": "mcp2-http-json"},
    "mcp2-authorized": {"http": "mcp2-authorized"},
    "fastmcp-authorized": {"http": "fastmcp-authorized"},
    "fastmcp": {"stdio": "fastmcp-stdio", "http": "fastmcp-http", "sse": "fastmcp-sse"},
}

# The package whose version says most about a server of an environment.
PACKAGES = {
    **dict.fromkeys(("mcp1", "mcp2", "time18", "time19"), "mcp"),
    "fastmcp": "fastmcp",
    "grafana": "mcp-grafana",
}

PATHS = {"stdio": "", "http": "/mcp", "sse": "/sse", "ws": "/"}

# Servers at other paths: one has moved to the usual path from there.
OTHER_PATHS = {
    "mcp1-moved": "/mcp/",
    "scripted-login-at-the-root": "/",
    "scripted-cookies-of-a-folder": "/deep/mcp",
}

# Our server without an SDK: its variants are plans.
SCRIPTED = "scripted"

# Stands for the port that a server shall listen on, where no variable says it.
PORT_ARGUMENT = "{port}"

_GRAFANA = "-m mcp_grafana --enabled-tools search,examples"

# Programs of other makers: the environment of `conformance.peers`, the package in it, and the
# command by transport, whose first word is a file of a package of Node, or an option of Python.
OTHERS = {
    "azure": (
        "node-others",
        "@azure/mcp-linux-x64",
        {"stdio": "dist/azmcp server start --mode single"},
    ),
    "grafana": (
        "grafana",
        "mcp-grafana",
        {
            "stdio": _GRAFANA,
            "http": f"{_GRAFANA} -t streamable-http -address 127.0.0.1:{PORT_ARGUMENT}",
            "sse": f"{_GRAFANA} -t sse -address 127.0.0.1:{PORT_ARGUMENT}",
        },
    ),
    "moon": ("node-others", "@moonrepo/core-linux-x64-gnu", {"stdio": "moon mcp"}),
    "toolbox": (
        "node-others",
        "@toolbox-sdk/server-linux-x64",
        {
            "stdio": "bin/toolbox --prebuilt sqlite --stdio",
            "http": f"bin/toolbox --prebuilt sqlite --address 127.0.0.1 --port {PORT_ARGUMENT}",
        },
    ),
}

# Arguments and variables of servers that want some; PROJECT stands for the folder they work on.
PROJECT = "/project"
ARGUMENTS = {"filesystem": (f"{PROJECT}/files",), "fetch": ("--allow-private-ips",)}
VARIABLES = {
    "memory": {"MEMORY_FILE_PATH": f"{PROJECT}/memory.jsonl"},
    "fastmcp-authorized": {"TOKEN_SECONDS": "3600"},
    "azure": {"AZURE_MCP_COLLECT_TELEMETRY": "false", "HOME": PROJECT},
    "grafana": {"GRAFANA_URL": "http://127.0.0.1:50001", "GRAFANA_USAGE_STATS": "disabled"},
    "moon": {"MOON_WORKSPACE_ROOT": f"{PROJECT}/workspace", "HOME": PROJECT, "CI": "true"},
    "toolbox": {"SQLITE_DATABASE": f"{PROJECT}/data.db"},
}

# A package of Node that our servers take their WebSocket from.
WS = peers.node_module("ws", "node-websocket")


@dataclass(frozen=True)
class Target:
    """The start of one server for one transport."""

    name: str
    transport: str
    command: tuple[str, ...]
    package: str
    """The package it comes from or is built on, with its version."""
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The path of its endpoint."""
        return OTHER_PATHS.get(self.name, PATHS[self.transport])


class NotInstalledError(Exception):
    """A server or client is not there; the message says what installs it."""


def target_of(server: str, transport: str) -> Target:
    """Return how a server starts; raises `NotInstalledError`."""
    arguments: tuple[str, ...] = ARGUMENTS.get(server, ())
    variables: dict[str, str] = VARIABLES.get(server, {})
    name = REFERENCE_SERVERS.get(server, {}).get(transport)
    if name is not None:
        environment = peers.SERVERS[name].environment
        command = peers.command(name)
    elif server in OTHERS:
        environment, folder, commands = OTHERS[server]
        words = commands[transport].split()
        python = peers.python(environment)
        if environment.startswith("node-"):
            words[0] = str(peers.node_module(f"{folder}/{words[0]}", environment))
        elif python:
            words.insert(0, python)
        command = words if peers.is_installed(environment) else None
    elif server.startswith(f"{SCRIPTED}-"):
        environment = SCRIPTED
        module = f"{__package__}.servers.{SCRIPTED}"
        command = [sys.executable, "-m", module, transport, server[len(SCRIPTED) + 1 :]]
    elif (server, transport) == ("mcp1", "ws"):
        environment = "mcp1"
        python = peers.python(environment)
        module = "conformance.websocket.servers.mcp1_uvicorn"
        command = [python, "-m", module] if python else None
    else:
        environment = "node-sdks"
        command = _own_server(server, transport)
        if transport == "ws":
            variables = {"WS": str(WS)}
            if not peers.is_installed("node-websocket"):
                raise NotInstalledError("python -m conformance.peers install node-websocket")
    if command is None:
        raise NotInstalledError(f"python -m conformance.peers install {environment}")
    package = _package(server, environment)
    return Target(server, transport, (*command, *arguments), package, variables)


def _own_server(server: str, transport: str) -> list[str] | None:
    """Return the command of a server of ours on the TypeScript SDKs; see there for the variants."""
    node = peers.node()
    if node is None or not peers.is_installed("node-sdks"):
        return None
    program, _, variant = server.partition("-")
    command = [node, str(OWN / f"{program}.mjs"), str(sdk_folder()), transport]
    return [*command, variant] if variant else command


def sdk_folder() -> Path:
    """Return the file that modules of the TypeScript SDKs are looked up from."""
    return peers.INSTALLED / "node-sdks" / "package.json"


def _package(server: str, environment: str) -> str:
    if environment == SCRIPTED:
        return f"mcpclient=={__version__}"
    if environment == "node-servers":
        return node_package(f"@modelcontextprotocol/server-{server}", environment)
    if environment == "node-others":
        return node_package(OTHERS[server][1], environment)
    if environment == "node-sdks":
        name = "server" if server.startswith("sdk2") else "sdk"
        return node_package(f"@modelcontextprotocol/{name}", environment)
    return python_package(PACKAGES.get(environment, f"mcp-server-{environment}"), environment)


def python_package(name: str, environment: str) -> str:
    """Return a package of Python with the version that is pinned."""
    version = re.search(rf"(?m)^{name}==([^\s;\\]+)", peers.pins(environment))
    return f"{name}=={version.group(1)}" if version else name


def node_package(name: str, environment: str) -> str:
    """Return a package of Node with the version that is installed."""
    description = peers.node_module(f"{name}/package.json", environment).read_text("utf-8")
    return f"{name}@{json.loads(description)['version']}"
