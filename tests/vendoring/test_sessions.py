"""Whatever part a copy lacks, an ordinary session of it works: F-VEND-1, F-VEND-2."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from mcpclient.vendoring.copying import chosen_parts, copy_package
from tests.support.http_server import HttpServer
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer
from tests.support.prose import blocks_of, programs_of
from tests.support.subprocesses import TOP

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
DEMO = TOP / "mcpclient" / "testing" / "demo_server.py"
PROGRAMS = programs_of(blocks_of((TOP / "README.md").read_text("utf-8")))

# The copies that the guide makes, and the smallest ones.
SETS: list[Sequence[str]] = [
    (),
    ("http",),
    ("http", "auth", "sync"),
    ("manager",),
    chosen_parts(None, ("cli", "inspector")),
]

PEERS = TOP / ".peers"
_NODE = "node-servers/node_modules/@modelcontextprotocol"
# By the tool that is called first.
REAL = {
    "echo": (f"{_NODE}/server-everything/dist/index.js", "stdio"),
    "list_allowed_directories": (f"{_NODE}/server-filesystem/dist/index.js", "/tmp"),
    "get_current_time": ("time/bin/mcp-server-time",),
}
BASES = "--explicit-package-bases"
APPLICATION = """
from acme import mcp

async def text_of(tool: str) -> str:
    async with mcp.connect(["server"], timeout=5) as client:
        return (await client.call_tool(tool, {"a": 1}, max_timeout=60)).text
"""


def name_of(parts: Sequence[str]) -> str:
    return "+".join(parts) if len(parts) < 9 else f"{len(parts)} parts"


@pytest.fixture(scope="module", params=SETS, ids=name_of)
def copy(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str]:
    """A folder with the copy ``acme.mcp``, and its parts."""
    folder = tmp_path_factory.mktemp("copied")
    copied = copy_package(folder / "acme" / "mcp", request.param)
    return folder, ",".join(copied.parts)


def test_a_type_checker_finds_nothing_in_an_application_with_a_copy(
    copy: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """F-VEND-1: neither in the copy nor where the application uses it."""
    (copy[0] / "app.py").write_text(APPLICATION)
    cache = tmp_path_factory.getbasetemp() / "mypy"  # the copies have most modules in common
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={cache}", "app.py", "acme", BASES],
        cwd=copy[0],
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith("Success"), done.stdout + done.stderr


async def sessions(copy: tuple[Path, str], *targets: object) -> list[str]:
    """Have sessions with these servers; a proxy of the environment concerns none of them."""
    folder, parts = copy
    words = [sys.executable, "-I", str(HERE / "session.py"), str(folder), "acme.mcp", parts]
    process = await asyncio.create_subprocess_exec(
        *words,
        *map(json.dumps, targets),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "https_proxy": "http://127.0.0.1:9", "no_proxy": "127.0.0.1"},
    )
    output, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return output.decode().splitlines()


async def test_a_session_over_stdio(copy: tuple[Path, str]) -> None:
    """F-VEND-1: with schemas, header names, secrets, questions and tasks that the copy lacks."""
    server = [sys.executable, str(HERE / "full_server.py")]
    handshake, stateless = await sessions(copy, [*server, "handshake"], [*server, "stateless"])
    assert handshake == "fits,broken,named,secret,asks,changes 2025-11-25"
    assert stateless == "fits,broken,named,secret,changes 2026-07-28"


async def test_a_session_over_http(copy: tuple[Path, str]) -> None:
    """F-VEND-1"""
    if "http" not in copy[1].split(","):
        pytest.skip("this copy has no HTTP")
    async with HttpServer(StreamableEndpoint(McpServer("both")).routes) as server:
        assert await sessions(copy, str(server.url("/mcp"))) == ["echo 2026-07-28"]


@pytest.mark.parametrize("server", REAL)
async def test_a_session_with_a_real_server(copy: tuple[Path, str], server: str) -> None:
    """F-VEND-1: of other makers, in TypeScript and Python, where `conformance` has them."""
    program, *words = REAL[server]
    if not (PEERS / program).exists():
        pytest.skip(f"needs .peers/{program}")
    node = ["node"] if program.endswith(".js") else []
    (said,) = await sessions(copy, [*node, str(PEERS / program), *words])
    assert said.partition(",")[0].partition(" ")[0] == server


def test_the_examples_of_the_readme(copy: tuple[Path, str]) -> None:
    """F-VEND-1, F-PACK-4"""
    for program, output in PROGRAMS:
        text = program.replace('"-m", "mcpclient.testing.demo_server"', repr(str(DEMO)))
        text = text.replace("import mcpclient\n", "import acme.mcp as mcpclient\n")
        path = f"import sys; sys.path.insert(0, {str(copy[0])!r})\n"
        done = subprocess.run(
            [sys.executable, "-I", "-W", "error", "-c", path + text], capture_output=True, text=True
        )
        assert done.stdout == output, done.stderr
