"""Real stdio servers on Windows; a Windows Python runs this: ``python -m … --npm=FOLDER``.

npm's servers are run by Node.js for Windows. They are met as ``node FILE``, and by a batch file
like those which npm makes, whose name is searched over PATH and PATHEXT: ``npx.cmd`` is one.
Servers of the Python SDKs are run by a Windows Python.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mcpclient import Client


class Meeting(NamedTuple):
    """A command of a server, and what to call there."""

    command: list[str]
    tool: str
    arguments: dict[str, Any]
    environment: Mapping[str, str]


AWKWARD = 'a "b" 100% & ü'

NPM: dict[str, tuple[str, str, dict[str, Any]]] = {
    "server-everything": ("dist/index.js", "echo", {"message": AWKWARD}),
    "server-memory": ("dist/index.js", "read_graph", {}),
    "server-sequential-thinking": (
        "dist/index.js",
        "sequentialthinking",
        {"thought": "one", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1},
    ),
    "server-filesystem": ("dist/index.js", "list_allowed_directories", {}),
}

# By the folder of the packages: the module that is the server, with its arguments.
PYTHON: dict[str, tuple[list[str], str, dict[str, Any]]] = {
    "time": (["mcp_server_time"], "get_current_time", {"timezone": "Europe/Vienna"}),
    "mcp1": (["conformance.servers.mcp1", "stdio"], "echo", {"text": AWKWARD}),
    "mcp2": (["conformance.servers.mcp2", "stdio"], "echo", {"text": AWKWARD}),
    "fastmcp": (["conformance.servers.fastmcp4", "stdio"], "echo", {"text": AWKWARD}),
}

# As npm's cmd-shim writes them.
SHIM = '@ECHO off\r\nSETLOCAL\r\nnode "{script}" %*\r\n'


async def meet(meeting: Meeting) -> str:
    """Connect, list the tools, call one; return the observations."""
    options: dict[str, Any] = {"connect_timeout": 60, "stderr": "discard"}
    async with Client(meeting.command, env=meeting.environment, **options) as client:
        tools = await client.list_tools()
        result = await client.call_tool(meeting.tool, meeting.arguments)
        assert not result.is_error, result.text
        version = client.protocol_version
        return f"{version}, {len(tools)} tools, {meeting.tool}: {result.text[:60]!r}"


def meetings_of_npm(folder: Path, shims: str) -> Iterator[Meeting]:
    """Yield two meetings for each server; makes the batch files."""
    path = os.pathsep.join((shims, os.environ["PATH"]))
    environment = {"PATH": path, "NODE_SKIP_PLATFORM_CHECK": "1"}
    for name, (file, tool, arguments) in NPM.items():
        script = folder / "node_modules" / "@modelcontextprotocol" / name / file
        Path(shims, f"{name}.cmd").write_text(SHIM.format(script=script), "utf-8")
        words = [shims] if name == "server-filesystem" else []
        for command in (["node", str(script), *words], [name, *words]):
            yield Meeting(command, tool, arguments, environment)


def meetings_of_python(python: str, packages: Path) -> Iterator[Meeting]:
    """Yield a meeting for each server of the Python SDKs."""
    for name, (words, tool, arguments) in PYTHON.items():
        # pywin32 is found by a file that only an installed folder is read for.
        folders = (".", packages / name, packages / name / "win32", packages / name / "win32/lib")
        environment = {"PYTHONPATH": os.pathsep.join(map(str, folders))}
        yield Meeting([python, "-m", *words], tool, arguments, environment)


def main() -> int:
    """Meet every server; return how many of the meetings failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--npm", type=Path, help="the folder in which npm has installed servers")
    parser.add_argument("--python", help="the Python that runs servers")
    parser.add_argument("--packages", type=Path, help="the folder of their packages")
    arguments = parser.parse_args()
    failures = count = 0
    with tempfile.TemporaryDirectory() as shims:
        meetings = [*meetings_of_npm(arguments.npm, shims)] if arguments.npm else []
        if arguments.python:
            meetings += meetings_of_python(arguments.python, arguments.packages)
        for meeting in meetings:
            count += 1
            try:
                seen = asyncio.run(meet(meeting))
            except Exception as error:
                failures += 1
                seen = f"FAILED: {error}"
            print(f"{' '.join(Path(word).name for word in meeting.command):40} {seen}", flush=True)
    print(f"{count - failures} of {count} meetings with servers went well")
    return failures


if __name__ == "__main__":
    sys.exit(main())
