"""Servers of other makers, confined by the sets of rights that are named for them."""

from __future__ import annotations

import asyncio
import http.server
import subprocess
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from conformance import peers
from mcpclient.sandbox.rights import FETCH, FILESYSTEM, GIT, NODE, TIME, Sandbox

pytestmark = [pytest.mark.needs_landlock, pytest.mark.slow]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that is a repository, with one file in it."""
    (tmp_path / "note.txt").write_text("hello")
    if peers.is_installed("git"):
        subprocess.run(["git", "init", "-q", "-b", "main", "."], cwd=tmp_path, check=True)
    return tmp_path


@pytest.fixture
def page() -> Iterator[str]:
    """The URL of a page on this machine."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.end_headers()
            self.wfile.write(b"a page")

        def log_message(self, *arguments: object) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/page"
    server.shutdown()
    thread.join()
    server.server_close()


# By the name of a server: its rights, its arguments, a tool, and the arguments of that.
CALLS: Mapping[str, tuple[Sandbox, list[str], str, dict[str, Any]]] = {
    "time": (
        TIME,
        [],
        "convert_time",
        {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"},
    ),
    "everything-stdio": (NODE, [], "get-sum", {"a": 1, "b": 2}),
    "memory": (NODE, [], "read_graph", {}),
    "sequential-thinking": (
        NODE,
        [],
        "sequentialthinking",
        {"thought": "a", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1},
    ),
    "filesystem": (FILESYSTEM, ["{folder}"], "read_text_file", {"path": "{folder}/note.txt"}),
    "git": (GIT, ["--repository", "{folder}"], "git_status", {"repo_path": "{folder}"}),
    "fetch": (FETCH, ["--allow-private-ips"], "fetch", {"url": "{page}"}),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_real_server_gives_the_same_answers_confined(name: str, folder: Path, page: str) -> None:
    """F-BOX-3"""
    command = peers.command(name)
    if command is None:
        pytest.skip(f"{name} is not installed: python -m conformance.peers install")
    sandbox, arguments, tool, asked = CALLS[name]
    places = {"folder": str(folder), "page": page}
    # The environments of the peers are links in some checkouts: the rights are about real paths.
    command = [str(Path(command[0]).absolute()), *command[1:]]
    command = [str(peers.TOP / word) if (peers.TOP / word).is_file() else word for word in command]
    command += [word.format(**places) for word in arguments]
    values = {key: value.format(**places) if isinstance(value, str) else value
              for key, value in asked.items()}  # fmt: skip

    async def answers(rights: Sandbox | None) -> tuple[list[Any], str, bool]:
        stderr: list[str] = []
        async with mcpclient.connect(
            command, sandbox=rights, cwd=folder, stderr=stderr.append, timeout=60
        ) as client:
            tools = [each.raw for each in await client.list_tools()]
            result = await client.call_tool(tool, values)
            return tools, result.text, result.is_error

    free = asyncio.run(answers(None))
    confined = asyncio.run(answers(replace(sandbox, processes=64)))
    assert confined == free
    assert not free[2], free[1]
