"""The processes of a benchmark: workers, which obey, and the neutral server over HTTP."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any

from conformance import peers

from .columns import HERE, ROOT
from .worker import NothingToMeasureError

if sys.platform != "win32":
    import resource

Answer = Mapping[str, float]


class WorkerFailedError(Exception):
    """A worker answered with an error, or not at all."""


def compiled() -> dict[str, str]:
    """The environment of an interpreter whose imports are compiled already.

    Installed packages come compiled; a checkout must not be measured compiling itself each time.
    """
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": tempfile.gettempdir() + "/bench-bytecode"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


class WorkerProcess:
    """One column's process. Closing it closes its servers too, since their input ends."""

    def __init__(self, command: list[str], patience: float) -> None:
        self.patience = patience
        self.stderr = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=compiled(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            encoding="utf-8",
        )
        try:
            self.runtime: str = self._answer()["runtime"]
        except WorkerFailedError:
            self.close()
            raise

    def order(self, **order: Any) -> dict[str, Any]:
        """Give one order and wait for its answer, at most as long as the patience lasts.

        Raises WorkerFailedError; after silence or a crash the process is gone.
        """
        assert self.process.stdin
        try:
            self.process.stdin.write(json.dumps(order) + "\n")
            self.process.stdin.flush()
        except OSError as error:
            raise WorkerFailedError(f"worker is gone: {self._last_words()}") from error
        return self._answer()

    def close(self) -> None:
        """End the process: its input ends, and what does not heed that is killed."""
        assert self.process.stdin
        assert self.process.stdout
        with suppress(OSError):  # an order that a dead process did not take
            self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.stderr.close()

    @property
    def alive(self) -> bool:
        """Whether it can take another order."""
        return self.process.poll() is None

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout
        timer = threading.Timer(self.patience, self.process.kill)
        timer.start()
        try:
            line = self.process.stdout.readline()
        finally:
            timer.cancel()
            timer.join()
        if not line:
            code = self.process.wait()
            raise WorkerFailedError(f"worker ended with {code}: {self._last_words()}")
        answer: dict[str, Any] = json.loads(line)
        if "absent" in answer:
            raise NothingToMeasureError(answer["absent"])
        if "error" in answer:
            raise WorkerFailedError(answer["error"])
        return answer

    def _last_words(self) -> str:
        self.stderr.seek(0)
        return _last_line(self.stderr.read())


def run_importer(command: list[str], patience: float) -> Answer:
    """The cost of importing one library in a fresh interpreter that finds it compiled."""
    _output_of(command, patience)  # This compiles it.
    answer: dict[str, float] = json.loads(_output_of(command, patience))
    return answer


def run_command_line(command: list[str], patience: float) -> Answer:
    """The time of a command line to its end, the processes that it starts and awaits included."""
    before, started = _spent_by_children(), perf_counter()
    output = _output_of(command, patience)
    seconds, cpu = perf_counter() - started, _spent_by_children() - before
    return {"count": 1, "seconds": seconds, "cpu": cpu, "bytes": len(output)}


def _output_of(command: list[str], patience: float) -> bytes:
    """Run a command to its end and return its output."""
    try:
        finished = subprocess.run(
            command,
            cwd=ROOT,
            env=compiled(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=patience,
            check=True,
        )
    except subprocess.CalledProcessError as error:
        raise WorkerFailedError(_last_line(error.stderr)) from error
    except subprocess.TimeoutExpired as error:
        raise WorkerFailedError(f"no answer within {patience:.0f} s") from error
    return finished.stdout


def _spent_by_children() -> float:
    """Processor time of the processes that have ended and were waited for; 0 on Windows."""
    if sys.platform == "win32":
        return 0.0
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _last_line(output: bytes) -> str:
    lines = output.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "nothing on stderr"


def server_command(*arguments: str) -> list[str]:
    """The command of the neutral server, started lean."""
    return [sys.executable, "-I", "-S", str(HERE / "servers.py"), *arguments]


SDK_SERVERS = {"mcp": "mcp2", "typescript": "node-sdks"}
"""Servers that the official SDKs make, and the environments of these."""


def sdk_server_command(name: str) -> list[str]:
    """The command of a server with the tool `echo`; there may be none on this machine."""
    folder = ROOT / ".peers" / SDK_SERVERS[name]
    python, node = folder / "bin" / "python", peers.node()
    if name == "mcp" and python.exists():
        return [str(python), "-W", "ignore", str(HERE / "server_mcp.py")]
    if name == "typescript" and (folder / "node_modules").exists() and node is not None:
        return [node, str(HERE / "server_typescript.mjs"), str(folder / "node_modules")]
    raise NothingToMeasureError(f"the server of {name} is not installed")


# The least that a bridge in Python does: no message is read, and nothing is checked.
_RELAY = """
import asyncio, subprocess, sys
class Copy(asyncio.Protocol):
    def __init__(self, target, ended):
        self.data_received, self.target, self.ended = target.write, target, ended
    def connection_lost(self, error):
        self.target.close()
        self.ended.set_result(None)
async def relay(*command):
    loop, pipe = asyncio.get_running_loop(), subprocess.PIPE
    child = subprocess.Popen(command, stdin=pipe, stdout=pipe, bufsize=0)
    ended = [loop.create_future(), loop.create_future()]
    for source, target, end in zip((sys.stdin, child.stdout), (child.stdin, sys.stdout), ended):
        writer, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, target)
        await loop.connect_read_pipe(lambda: Copy(writer, end), source)
    await asyncio.wait(ended)
asyncio.run(relay(*sys.argv[2:]))
"""


_FASTMCP_PROXY = """
import sys
from fastmcp.server import create_proxy
words = sys.argv[1:]
entry = {"command": words[1], "args": words[2:]} if words[0] == "--" else {"url": words[0]}
proxy = create_proxy({"mcpServers": {"server": entry}})
proxy.run(show_banner=False, log_level="ERROR")
"""


_GATEWAY = """
import asyncio
import mcpclient
words = sys.argv[1:]
servers = {"server": words[1:] if words[0] == "--" else words[0]}
asyncio.run(mcpclient.bridge(mcpclient.Manager(servers, naming="tool"), wait=20))
"""


def proxy_command(proxy: str, server: Sequence[str]) -> list[str]:
    """The command of a stdio server in front of another one; there may be none on this machine."""
    if proxy == "relay":
        return [sys.executable, "-I", "-S", "-c", _RELAY, *server]
    if proxy == "bridge":
        source = f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
        source += "from mcpclient.__main__ import main; main()"
        return [sys.executable, "-c", source, "bridge", "--quiet", *server]
    if proxy == "gateway":
        return [
            sys.executable,
            "-c",
            f"import sys; sys.path.insert(0, {str(ROOT)!r}){_GATEWAY}",
            *server,
        ]
    python = ROOT / ".peers" / "fastmcp" / "bin" / "python"
    if proxy == "fastmcp" and python.exists():
        return [str(python), "-c", _FASTMCP_PROXY, *server]
    program = ROOT / ".peers" / "node-hosts" / "node_modules" / "mcp-remote" / "dist" / "proxy.js"
    node = peers.node()
    if proxy == "mcp-remote" and program.exists() and node is not None:
        return [node, str(program), *server, "--allow-http", "--silent"]
    raise NothingToMeasureError(f"{proxy} is not installed")


def run_first_call(command: list[str], patience: float, target: Mapping[str, Any]) -> Answer:
    """The time from the start of a program to the answer to its first call."""
    started = perf_counter()
    worker = WorkerProcess(command, patience)
    try:
        opened = worker.order(do="open", target=target, era="auto")
        seconds = perf_counter() - started
        worker.order(do="close")
    finally:
        worker.close()
    return {**opened, "count": 1, "seconds": seconds}


class HttpServer:
    """The neutral server over HTTP, as long as the `with` lasts."""

    def __enter__(self) -> HttpServer:
        self.process = subprocess.Popen(
            server_command("http"), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self.process.stdout
        self.port = int(self.process.stdout.readline())
        return self

    def __exit__(self, *exception: object) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def url(self, path: str) -> str:
        """The endpoint that answers as the path says: `json`, `stream` or `ws`."""
        scheme = "ws" if path == "ws" else "http"
        return f"{scheme}://127.0.0.1:{self.port}/{path}"
