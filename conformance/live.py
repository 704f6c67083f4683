"""Meet the reference servers for real, and compare with what the reference client got.

Both clients ask the same (see `conformance.live_plans`), each of a server of its own where the
server is a child process. This library connects as a user would, with nothing but the target.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import http.server
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Awaitable, Iterator, Mapping
from pathlib import Path
from typing import Any

import mcpclient
from conformance import peers
from conformance.live_plans import Plan, plans
from conformance.results import FAILED, NOT_RUN, PASSED, Row

REFERENCE = "mcp2"

# Real seconds for a server to listen, and for one client to ask everything.
START_LIMIT = 60
ASK_LIMIT = 120

Report = dict[str, Any]


def run() -> Iterator[Row]:
    """Meet every server, and yield one row for each."""
    with _workspace() as (folder, page):
        for plan in plans(folder, page):
            yield _meet(plan)


def _meet(plan: Plan) -> Row:
    command = peers.command(plan.server)
    reference = peers.python(REFERENCE)
    if command is None or reference is None:
        missing = REFERENCE if command else peers.SERVERS[plan.server].environment
        return Row("live", plan.server, NOT_RUN, f"python -m conformance.peers install {missing}")
    if plan.needs and shutil.which(plan.needs) is None:
        return Row("live", plan.server, NOT_RUN, f"{plan.needs} is not on PATH")
    try:
        with _target(plan, [*command, *plan.arguments]) as target:
            ours = asyncio.run(asyncio.wait_for(_ask(plan, target), ASK_LIMIT))
            theirs = _ask_reference(reference, plan, target)
    except Exception as error:
        return Row("live", plan.server, FAILED, f"{type(error).__name__}: {error}")
    wrong = [*_wrong_version(plan, ours), *differences(theirs, ours)]
    if wrong:
        return Row("live", plan.server, FAILED, "; ".join(wrong[:5]))
    asked = sum(map(len, (plan.calls, plan.reads, plan.gets, plan.completions)))
    return Row("live", plan.server, PASSED, f"{ours['protocol_version']}, {asked} answers alike")


async def _ask(plan: Plan, target: Report) -> Report:
    """Ask a server everything through this library."""
    if "url" in target:
        connecting = mcpclient.connect(target["url"])
    else:
        connecting = mcpclient.connect(
            target["command"], env=plan.environment, cwd=peers.TOP, stderr="discard"
        )
    async with connecting as client:
        capabilities = client.capabilities
        report: Report = {
            "protocol_version": client.protocol_version,
            "server": client.server_info.raw if client.server_info else None,
            "capabilities": capabilities,
        }
        if "tools" in capabilities:
            report["tools"] = [tool.raw for tool in await client.list_tools()]
        if "resources" in capabilities:
            report["resources"] = [found.raw for found in await client.list_resources()]
            report["templates"] = [found.raw for found in await client.list_resource_templates()]
        if "prompts" in capabilities:
            report["prompts"] = [prompt.raw for prompt in await client.list_prompts()]
        report["calls"] = [await _call_tool(client, *call) for call in plan.calls]
        report["reads"] = [await _answer(client.read_resource(uri)) for uri in plan.reads]
        report["gets"] = [await _answer(client.get_prompt(*get)) for get in plan.gets]
        report["completions"] = [await _complete(client, *asked) for asked in plan.completions]
        await client.ping()
        if "logging" in capabilities:
            await client.set_log_level("error")
        return report


async def _call_tool(client: mcpclient.Client, name: str, arguments: Mapping[str, Any]) -> Report:
    """Return a result and the progress on the way to it."""
    steps: list[Any] = []

    def progress(step: mcpclient.Progress) -> None:
        steps.append([step.progress, step.total, step.message])

    result = await _answer(client.call_tool(name, arguments, on_progress=progress))
    return {"result": result, "progress": steps}


async def _complete(client: mcpclient.Client, prompt: str, argument: str, value: str) -> Any:
    reference = {"type": "ref/prompt", "name": prompt}
    return (await client.complete(reference, argument, value)).raw


async def _answer(asking: Awaitable[Any]) -> Any:
    try:
        return (await asking).raw
    except mcpclient.PeerError as error:
        return {"error": error.code}


def _ask_reference(python: str, plan: Plan, target: Report) -> Report:
    """Ask the same through the reference client, in its own environment."""
    request = {
        **target,
        "environment": plan.environment,
        "folder": str(peers.TOP),
        "mode": plan.reference_mode,
        "calls": plan.calls,
        "reads": plan.reads,
        "gets": plan.gets,
        "completions": plan.completions,
    }
    finished = subprocess.run(
        [python, str(Path(__file__).with_name("reference_client.py"))],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        timeout=ASK_LIMIT,
        check=False,
    )
    if finished.returncode:
        raise RuntimeError(f"the reference client failed: {finished.stderr.strip()[-500:]}")
    report: Report = json.loads(finished.stdout)
    return report


def _wrong_version(plan: Plan, ours: Report) -> Iterator[str]:
    if ours["protocol_version"] != plan.version:
        yield f"negotiated {ours['protocol_version']} where {plan.version} is possible"


def differences(theirs: Any, ours: Any, path: str = "") -> Iterator[str]:
    """Name what the reference client got and this library did not.

    This library hands on fields that the models of the SDK do not know; those are no difference.
    """
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key, value in theirs.items():
            if key in ours:
                yield from differences(value, ours[key], f"{path}.{key}")
            else:
                yield f"{path}.{key} is missing"
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for index, pair in enumerate(zip(theirs, ours)):
            yield from differences(*pair, f"{path}[{index}]")
    elif theirs != ours:
        yield f"{path} is {str(ours)[:100]} where the reference got {str(theirs)[:100]}"


@contextlib.contextmanager
def _target(plan: Plan, command: list[str]) -> Iterator[Report]:
    """Start a server that listens, or tell how a client starts it."""
    server = peers.SERVERS[plan.server]
    if server.transport == "stdio":
        yield {"command": command, "transport": "stdio"}
        return
    port = free_port()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            cwd=peers.TOP,
            env={**os.environ, "PORT": str(port), **plan.environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        try:
            wait_until_it_listens(process, port)
            url = f"http://127.0.0.1:{port}{server.path}"
            yield {"url": url, "transport": server.transport}
        finally:
            process.kill()
            process.wait()


def free_port() -> int:
    """Return a port of the loopback interface that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def wait_until_it_listens(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait for a server that was started; raises RuntimeError when it does not come up."""
    deadline = time.monotonic() + START_LIMIT
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the server exited with code {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"the server does not listen after {START_LIMIT} s")


@contextlib.contextmanager
def _workspace() -> Iterator[tuple[Path, str]]:
    """Make a folder with files and a git repository, and serve one page of HTML."""
    with tempfile.TemporaryDirectory() as name, _page_server(Path(name, "files")) as page:
        folder = Path(name).resolve()
        (folder / "files").mkdir()
        (folder / "files" / "text.txt").write_text("Grüße\nzwei Zeilen\n", "utf-8")
        (folder / "files" / "index.html").write_text("<h1>A page</h1><p>of text</p>", "utf-8")
        _make_repository(folder / "repository")
        yield folder, page


def _make_repository(folder: Path) -> None:
    """Make a repository with one commit, if git is there; its server does not run without."""
    git = shutil.which("git")
    if git is None:
        return
    folder.mkdir()
    (folder / "file.txt").write_text("one\n", "utf-8")
    author = ["-c", "user.name=A. Author", "-c", "user.email=author@example.com"]
    for arguments in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "First"]):
        subprocess.run([git, *author, *arguments], cwd=folder, check=True, capture_output=True)


@contextlib.contextmanager
def _page_server(folder: Path) -> Iterator[str]:
    handler = functools.partial(_QuietHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            serving.join()


class _QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing: the page is only there to be fetched."""
