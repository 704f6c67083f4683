"""Real stdio servers on Windows; a Windows Python runs this: ``python -m … FOLDER``.

The servers are npm's, run by Node.js for Windows. They are met as ``node FILE``, and by a batch
file like those which npm makes, whose name is searched over PATH and PATHEXT: ``npx.cmd`` is one.
FOLDER: where npm has installed the servers.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcpclient import Client

Call = tuple[str, dict[str, Any]]
"""A tool and its arguments."""

SERVERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "server-everything": ("dist/index.js", "echo", {"message": 'a "b" 100% & ü'}),
    "server-memory": ("dist/index.js", "read_graph", {}),
    "server-sequential-thinking": (
        "dist/index.js",
        "sequentialthinking",
        {"thought": "one", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1},
    ),
    "server-filesystem": ("dist/index.js", "list_allowed_directories", {}),
}

# As npm's cmd-shim writes them.
SHIM = '@ECHO off\r\nSETLOCAL\r\nnode "{script}" %*\r\n'


async def meet(command: list[str], call: Call, path: str) -> str:
    """Connect, list the tools, call one; return what was seen."""
    environment = {"PATH": path, "NODE_SKIP_PLATFORM_CHECK": "1"}
    async with Client(command, env=environment, connect_timeout=60, stderr="discard") as client:
        tools = await client.list_tools()
        tool, arguments = call
        result = await client.call_tool(tool, arguments)
        assert not result.is_error, result.text
        return f"{client.protocol_version}, {len(tools)} tools, {tool}: {result.text[:60]!r}"


def commands(folder: Path, shims: str) -> Iterator[tuple[list[str], Call]]:
    """Yield two commands for each server, and what to call; makes the batch files."""
    for name, (file, tool, arguments) in SERVERS.items():
        script = folder / "node_modules" / "@modelcontextprotocol" / name / file
        Path(shims, f"{name}.cmd").write_text(SHIM.format(script=script), "utf-8")
        words = [shims] if name == "server-filesystem" else []
        for command in (["node", str(script), *words], [name, *words]):
            yield command, (tool, arguments)


def main(folder: Path) -> int:
    """Meet every server in both ways; return how many of the meetings failed."""
    failures = count = 0
    with tempfile.TemporaryDirectory() as shims:
        search_path = os.pathsep.join((shims, os.environ["PATH"]))
        for command, call in commands(folder, shims):
            count += 1
            try:
                seen = asyncio.run(meet(command, call, search_path))
            except Exception as error:
                failures += 1
                seen = f"FAILED: {error}"
            print(f"{' '.join(Path(word).name for word in command):40} {seen}", flush=True)
    print(f"{count - failures} of {count} meetings with servers went well")
    return failures


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
