"""Pythons that lack modules, frozen programs, and the resources of a call."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mcpclient
from tests.support.tables import each_row

ROOT = Path(mcpclient.__file__).parents[1]

PROGRAM = """
import sys
sys.path.insert(0, {root!r})
absent = {absent!r}
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.lstrip("_") == absent:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
for name in (absent, "_" + absent):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Absent())
import asyncio, mcpclient
from tests.support.http_server import HttpServer
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer

async def main():
    demo = [sys.executable, {demo!r}]
    async with mcpclient.connect(demo) as client:
        print((await client.call_tool("add", {{"a": 1, "b": 2}})).text)
    async with HttpServer(StreamableEndpoint(McpServer()).routes) as server:
        async with mcpclient.connect(str(server.url())) as client:
            print((await client.call_tool("echo", {{"text": "plain"}})).text)
    try:
        async with mcpclient.connect("https://127.0.0.1:1/mcp", ca_file={demo!r}):
            pass
    except mcpclient.McpError as error:
        print(error)
asyncio.run(main())
"""


@pytest.mark.slow
@each_row("absent", ["ssl", "ctypes", "zlib", "sqlite3", "readline", "fcntl"])
def test_stdio_and_plain_http_work_without_a_module(absent: str) -> None:
    """F-VEND-4: https says that it needs ssl."""
    demo = str(ROOT / "mcpclient" / "testing" / "demo_server.py")
    program = PROGRAM.format(root=str(ROOT), absent=absent, demo=demo)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert lines[:2] == ["3", "plain"], done.stderr
    assert (lines[2] == "this Python was built without ssl, which https needs") is (absent == "ssl")


def test_a_call_over_stdio_opens_no_file_and_no_socket() -> None:
    """F-VEND-4: nothing is opened, resolved, started or loaded by a call on a connection."""
    program = """
import asyncio, sys
sys.path.insert(0, sys.argv[1])
import mcpclient
touched = []
watched = ("open", "socket.", "subprocess.", "os.", "ctypes.", "import", "shutil.", "tempfile.")
is_on = False
def hook(event, arguments):
    if is_on and event.startswith(watched):
        touched.append((event, repr(arguments)[:100]))
sys.addaudithook(hook)
async def main():
    global is_on
    async with mcpclient.connect([sys.executable, sys.argv[2]]) as client:
        await client.call_tool("add", {"a": 1, "b": 2})
        await client.list_tools()
        await client.call_tool("add", {"a": 1, "b": 2})  # whose result a schema is compiled for
        is_on = True
        for _ in range(3):
            assert (await client.call_tool("add", {"a": 1, "b": 2})).text == "3"
        await client.list_tools()
        is_on = False
asyncio.run(main())
print(touched)
"""
    demo = str(ROOT / "mcpclient" / "testing" / "demo_server.py")
    done = subprocess.run(
        [sys.executable, "-c", program, str(ROOT), demo], capture_output=True, text=True
    )
    assert done.stdout == "[]\n", done.stderr


def test_the_hook_for_pyinstaller_names_every_module_and_page() -> None:
    """F-VEND-4"""
    folder = ROOT / "mcpclient" / "__pyinstaller"
    hook: dict[str, object] = {"__file__": str(folder / "hook-mcpclient.py")}
    exec((folder / "hook-mcpclient.py").read_text(), hook)
    names, datas = hook["hiddenimports"], hook["datas"]
    assert isinstance(names, list)
    assert isinstance(datas, list)
    assert {"mcpclient", "mcpclient.sync.client", "mcpclient.cli.main"} <= set(names)
    assert (str(ROOT / "mcpclient/cli/guide/errors.md"), str(Path("mcpclient/cli/guide"))) in datas
    for program in ("code/program.py", "sandbox/launcher.py"):  # run from their source
        path = ROOT / "mcpclient" / program
        assert (str(path), str(Path("mcpclient", program).parent)) in datas
    found = __import__("mcpclient.__pyinstaller", fromlist=["get_hook_dirs"]).get_hook_dirs()
    assert found == [str(folder)]


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which(os.environ.get("PYINSTALLER", "pyinstaller")) is None,
    reason="needs PyInstaller; PYINSTALLER names it where it is not on PATH",
)
def test_a_frozen_program_has_all_that_it_uses(tmp_path: Path) -> None:
    """F-VEND-4: the blocking twin, the manager, OAuth, the inspector, and the command line."""
    program = tmp_path / "frozen.py"
    program.write_text(
        "import sys\n"
        "import mcpclient\n"
        "from mcpclient import sync\n"
        "from mcpclient.__main__ import main\n"
        "print(mcpclient.OAuth.__name__, mcpclient.inspect.__name__)\n"
        "with sync.connect_all({'s': sys.argv[1:]}) as manager:\n"
        "    print(manager.call_tool('s__add', {'a': 1, 'b': 2}).text)\n"
        "sys.argv[1:] = ['call', 'add', 'a=2', 'b=3', '--', *sys.argv[1:]]\n"
        "main()\n"
        "sys.argv[1:] = ['help', 'errors']\n"
        "sys.exit(main())\n"
    )
    hooks = ROOT / "mcpclient" / "__pyinstaller"
    subprocess.run(
        [
            *(os.environ.get("PYINSTALLER", "pyinstaller"), "--noconfirm", "-p", str(ROOT)),
            *("--additional-hooks-dir", str(hooks), str(program)),
        ],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    demo = str(ROOT / "mcpclient" / "testing" / "demo_server.py")
    done = subprocess.run(
        [str(tmp_path / "dist" / "frozen" / "frozen"), "python3", demo],
        capture_output=True,
        text=True,
        cwd="/",
    )
    assert done.stdout.startswith("OAuth inspect\n3\n5\n"), done.stderr
    assert "McpError" in done.stdout
