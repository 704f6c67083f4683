"""The columns of the table: which clients are on this machine, and how their workers start."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from .rows import Row

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
FLOOR = "floor"
LIBRARY = "mcpclient"
OFFICIAL = "mcp"
FASTMCP = "fastmcp"
COLUMN_KEYS = (FLOOR, LIBRARY, OFFICIAL, FASTMCP, "typescript", "websockets")

# The transports of rows: what a client of MCP is expected to have, and one that few have.
USUAL = ("stdio", "json", "json/counted", "stream", "none")
ALL = (*USUAL, "ws")

# The package by its name, and then a client's needs.
IMPORT_PYTHON = """
import time
def memory():
    try:
        with open("/proc/self/status") as status:
            pages = [line.split()[1] for line in status if line.startswith("VmRSS")]
    except OSError:
        pages = ["0"]
    return int(pages[0]) * 1024
start = time.process_time()
import {module}
answer = {{"count": 1, "name_cpu": time.process_time() - start, "name_memory": memory()}}
start = time.process_time()
{statement}
answer["cpu"] = answer["name_cpu"] + time.process_time() - start
answer["memory"] = memory()
import json
print(json.dumps(answer))
"""
# A server that starts as fast as servers do, for the time a command line takes to list its tools.
DEMO_SERVER = str(ROOT / "mcpclient" / "testing" / "demo_server.py")
IMPORT_NODE = """
const start = process.cpuUsage();
const spent = () => {{
  const used = process.cpuUsage(start);
  return (used.user + used.system) / 1e6;
}};
await import("{index}");
const answer = {{ count: 1, name_cpu: spent(), name_memory: process.memoryUsage().rss }};
await import("{stdio}");
Object.assign(answer, {{ cpu: spent(), memory: process.memoryUsage().rss }});
console.log(JSON.stringify(answer));
"""


@dataclass(frozen=True)
class Column:
    """One client: the command of its worker, and the commands that stand for whole rows.

    ``importers`` import it and tell what that costs; ``command_lines`` are run to their end.
    ``around``: by row, the commands that are run once before all rounds, and once after them.
    """

    key: str
    title: str
    worker: list[str] = field(default_factory=list)
    importers: dict[str, list[str]] = field(default_factory=dict)
    command_lines: dict[str, list[str]] = field(default_factory=dict)
    around: dict[str, tuple[list[str], list[str]]] = field(default_factory=dict)
    absent: str = ""
    transports: tuple[str, ...] = USUAL

    def takes(self, row: Row) -> bool:
        """Whether a row can be run for this client."""
        if row.operation == "import":
            return row.key in self.importers
        if row.operation == "command-line":
            return row.key in self.command_lines
        if row.authorized:  # the logins of the others differ too much to be compared
            return self.key in (FLOOR, LIBRARY)
        return row.transport in self.transports


def peers_folder() -> Path:
    """The folder of the other clients: MCPCLIENT_PEERS, or .peers in this repository."""
    return Path(os.environ.get("MCPCLIENT_PEERS") or ROOT / ".peers")


def find_columns(keys: list[str], peers: Path) -> list[Column]:
    """The columns of these keys in their order; one that is not installed says so in `absent`."""
    finders: dict[str, Callable[[], Column]] = {
        FLOOR: _floor,
        LIBRARY: _library,
        OFFICIAL: lambda: _installed(peers, OFFICIAL, "mcp", "2", "from mcp.client import Client"),
        "fastmcp": lambda: _installed(
            peers, "fastmcp", "fastmcp", "4", "from fastmcp import Client"
        ),
        "typescript": lambda: _typescript(peers),
        "websockets": _websockets,
    }
    return [finders[key]() for key in keys]


def _python_column(
    key: str, title: str, python: str, module: str = "", statement: str = ""
) -> Column:
    source = IMPORT_PYTHON.format(module=module, statement=statement)
    return Column(
        key,
        title,
        [python, "-m", f"tests.tools.bench.worker_{key}"],
        {"import": [python, "-c", source]},
    )


def _floor() -> Column:
    floor = _python_column(FLOOR, "asyncio floor", sys.executable, "asyncio", "import json")
    nothing = [sys.executable, "-c", "pass"]
    return replace(
        floor,
        transports=ALL,
        importers={"import": floor.importers["import"], "import-http": floor.importers["import"]},
        command_lines={
            "version": nothing,
            "help": nothing,
            "session": nothing,
            "tools": [sys.executable, "-c", "import asyncio, json"],
        },
    )


def _library() -> Column:
    connect = "from mcpclient import connect"
    column = _python_column(LIBRARY, "mcpclient", sys.executable, "mcpclient", connect)
    remote = IMPORT_PYTHON.format(
        module="mcpclient", statement=f"{connect}; connect('http://127.0.0.1/mcp')"
    )
    # As installers write the script of that name: runpy takes a fifth of such a call.
    source = "import sys; from mcpclient.__main__ import main; sys.exit(main())"
    own = [sys.executable, "-c", source]
    name = f"@bench-{os.getpid()}"
    return replace(
        column,
        transports=ALL,
        importers={**column.importers, "import-http": [sys.executable, "-c", remote]},
        command_lines={
            "version": [*own, "--version"],
            "help": [*own, "--help"],
            "tools": [*own, "tools", DEMO_SERVER],
            "session": [*own, "call", name, "echo", "message=hi"],
        },
        around={
            "session": (
                [*own, "open", name, "--", sys.executable, DEMO_SERVER],
                [*own, "close", name],
            )
        },
    )


def _websockets() -> Column:
    """The calls of the floor through the package of that name, one of the tools of the tests."""
    if find_spec("websockets") is None:
        return Column("websockets", "websockets", absent="not installed beside the benchmark")
    title = f"websockets {version('websockets')}"
    column = _python_column("websockets", title, sys.executable)
    return replace(column, importers={}, transports=("ws",))


def _installed(peers: Path, key: str, package: str, major: str, statement: str) -> Column:
    """The environment with the newest release of this major version, and little besides.

    The official SDK is taken from an environment without fastmcp, which brings it along.
    """
    found = [
        (_numbers(versions[package]), -len(versions), python, versions[package])
        for python, versions in _environments(peers)
        if versions.get(package, "").startswith(f"{major}.")
        and (package == "fastmcp" or "fastmcp" not in versions)
    ]
    if not found:
        return Column(key, package, absent=f"no environment with {package} {major}.x in {peers}")
    *_, python, release = max(found)
    column = _python_column(key, f"{package} {release}", python, package, statement)
    if key != FASTMCP:
        return column  # the command of the official SDK runs servers, and calls none
    program = str(Path(python).with_name("fastmcp"))
    return replace(
        column,
        command_lines={
            "version": [program, "--version"],
            "help": [program, "--help"],
            "tools": [program, "list", "--command", shlex.join([sys.executable, DEMO_SERVER])],
        },
    )


def _environments(peers: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Every virtual environment below the folder, and the versions in it."""
    for configuration in sorted(peers.glob("*/pyvenv.cfg")):
        folder = configuration.parent
        pythons = [*folder.glob("bin/python"), *folder.glob("Scripts/python.exe")]
        metadata = [
            *folder.glob("lib/python*/site-packages/*.dist-info"),
            *folder.glob("Lib/site-packages/*.dist-info"),
        ]
        names = (info.name[: -len(".dist-info")].rpartition("-") for info in metadata)
        if pythons:
            yield str(pythons[0]), {name: version for name, _, version in names}


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def _typescript(peers: Path) -> Column:
    """The newest client for Node, wherever below the folder it and Node are."""
    key, package = "typescript", "@modelcontextprotocol/client"
    found = []
    for manifest in peers.glob(f"*/node_modules/{package}/package.json"):
        version = json.loads(manifest.read_text(encoding="utf-8"))["version"]
        found.append((_numbers(version), manifest.parent, version))
    node = _node(peers)
    if not found or node is None:
        missing = f"no {package} in {peers}" if node else "no Node on this machine"
        return Column(key, package, absent=missing)
    _, client, version = max(found)
    index, stdio = (client / "dist" / name for name in ("index.mjs", "stdio.mjs"))
    source = IMPORT_NODE.format(index=index.as_uri(), stdio=stdio.as_uri())
    worker = str(HERE / "worker_typescript.mjs")
    return Column(
        key,
        f"TypeScript {version}",
        [node, "--expose-gc", "--no-warnings", worker, str(client)],
        {"import": [node, "--input-type=module", "-e", source]},
        _inspector_commands(peers, node),
    )


def _inspector_commands(peers: Path, node: str) -> dict[str, list[str]]:
    """The command line of the official inspector, which stands on the TypeScript client."""
    for folder in peers.glob("*/node_modules/@modelcontextprotocol/inspector"):
        manifest = json.loads((folder / "package.json").read_text(encoding="utf-8"))
        program = [node, str(folder / manifest["bin"]["mcp-inspector"]), "--cli"]
        listing = [*program, sys.executable, DEMO_SERVER, "--method", "tools/list"]
        return {"tools": listing}
    return {}


def _node(peers: Path) -> str | None:
    """The Node that is installed as a package among the peers, else the one of the system."""
    packaged = sorted(peers.glob("*/node_modules/node-*/bin/node"))
    return str(packaged[-1]) if packaged else shutil.which("node")
