"""Meet the reference servers for real, and compare with the results of the reference clients.

All clients ask the same (see `conformance.live_plans`), each of a server of its own where the
server is a child process. In the newest revision that a server speaks, this library connects as a
user would, with nothing but the target; for the older ones its version is pinned.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import subprocess
from collections.abc import Awaitable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import mcpclient
from conformance import duties, peers, traces
from conformance.comparing import Report, compare
from conformance.live_plans import ALLOWANCES, STATELESS, Plan, plans
from conformance.results import FAILED, NOT_RUN, PASSED, TRANSPORT_OF, Row
from conformance.workspace import listening, workspace

# Real seconds for one client to ask everything.
ASK_LIMIT = 120

# Meetings at the same time: most of one is waiting for programs to start.
WORKERS = 2

# The reference clients, and the environment of each.
PYTHON_SDK = "the Python SDK"
TYPESCRIPT_SDK = "the TypeScript SDK"
PYTHON_SDK_1 = "the Python SDK 1.x"
REFERENCES = {PYTHON_SDK: "mcp2", TYPESCRIPT_SDK: "node-sdks"}
CLIENTS = {**REFERENCES, PYTHON_SDK_1: "mcp1"}

ENVIRONMENTS = (
    *REFERENCES.values(),
    *dict.fromkeys(server.environment for server in peers.SERVERS.values()),
    "node-websocket",
)


@dataclass(frozen=True)
class Meeting:
    """One server in one revision."""

    plan: Plan
    revision: str

    @property
    def row(self) -> partial[Row]:
        """A row about this meeting; its outcome and findings are filled in later."""
        transport = TRANSPORT_OF[peers.SERVERS[self.plan.server].transport]
        return partial(Row, "live", revision=self.revision, transport=transport)

    @property
    def name(self) -> str:
        return f"{self.plan.server} {self.revision}"

    @property
    def references(self) -> list[str]:
        """The reference clients with this transport: the Python SDK 2.x has no WebSocket."""
        is_websocket = peers.SERVERS[self.plan.server].transport == "ws"
        return [TYPESCRIPT_SDK] if is_websocket else list(REFERENCES)

    @property
    def pinned_version(self) -> str | None:
        return None if self.revision == self.plan.revisions[0] else self.revision


def run() -> Iterator[Row]:
    """Meet every server, and yield a row for each revision and reference client, and each duty."""
    with workspace() as (folder, page), ThreadPoolExecutor(WORKERS) as workers:
        meetings = [
            Meeting(plan, revision) for plan in plans(folder, page) for revision in plan.revisions
        ]
        for rows in workers.map(_meet, meetings):
            yield from rows
    yield from duties.run()


def _meet(meeting: Meeting) -> list[Row]:
    plan, row = meeting.plan, partial(meeting.row, name=meeting.name)
    command = peers.command(plan.server)
    if command is None:
        return [row(outcome=NOT_RUN, detail=peers.why_not(peers.SERVERS[plan.server].environment))]
    for environment in plan.also:
        if not peers.is_installed(environment):
            return [row(outcome=NOT_RUN, detail=peers.why_not(environment))]
    if plan.needs and shutil.which(plan.needs) is None:
        return [row(outcome=NOT_RUN, detail=f"{plan.needs} is not on PATH")]
    try:
        with target_of(plan, [*command, *plan.arguments]) as target:
            ours = asyncio.run(asyncio.wait_for(_ask(meeting, target), ASK_LIMIT))
            return [_beside(name, meeting, target, ours) for name in meeting.references]
    except Exception as error:
        return [row(outcome=FAILED, detail=f"{type(error).__name__}: {error}", checks=1)]


@contextlib.contextmanager
def target_of(plan: Plan, command: list[str]) -> Iterator[Report]:
    """Start a server that listens, or tell how a client starts it."""
    server = peers.SERVERS[plan.server]
    if server.transport == "stdio":
        yield {"command": command, "transport": "stdio"}
        return
    with listening(command, plan.environment) as port:
        scheme = "ws" if server.transport == "ws" else "http"
        url = f"{scheme}://127.0.0.1:{port}{server.path}"
        yield {"url": url, "transport": server.transport}


async def _ask(meeting: Meeting, target: Report) -> Report:
    """Ask a server everything through this library."""
    plan = meeting.plan
    connect = partial(
        mcpclient.connect, protocol_version=meeting.pinned_version, trace=traces.new("live")
    )
    if "url" in target:
        connecting = connect(target["url"])
    else:
        connecting = connect(
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
        return {"error": {"code": error.code, "message": error.message, "data": error.data}}


def _beside(reference: str, meeting: Meeting, target: Report, ours: Report) -> Row:
    """Compare with a reference client's results from the same server."""
    row = partial(meeting.row, name=f"{meeting.name} beside {reference}")
    command = reference_command(reference)
    if command is None:
        return row(outcome=NOT_RUN, detail=peers.why_not(REFERENCES[reference]))
    if ours["protocol_version"] != meeting.revision:
        detail = f"negotiated {ours['protocol_version']}"
        return row(outcome=FAILED, detail=detail, checks=1)
    theirs = ask_reference(command, meeting, target)
    compared = compare(reference, theirs, ours, ALLOWANCES)
    row = partial(row, checks=compared.checks, held=compared.held)
    if compared.differences:
        detail = "; ".join(text for _, text in compared.differences[:5])
        return row(outcome=FAILED, detail=detail)
    return row(outcome=PASSED, detail=f"{compared.checks} answers alike")


def reference_command(reference: str) -> list[str] | None:
    """Return the command of a reference client, or None if it is not installed."""
    here = Path(__file__).parent
    if reference != TYPESCRIPT_SDK:
        python = peers.python(CLIENTS[reference])
        name = "reference_client" if reference == PYTHON_SDK else "reference_client_mcp1"
        return [python, str(here / f"{name}.py")] if python else None
    node = peers.node() if peers.is_installed(CLIENTS[reference]) else None
    modules = str(peers.node_module("", CLIENTS[reference]))
    return [node, str(here / "reference_client.mjs"), modules] if node else None


def ask_reference(command: list[str], meeting: Meeting, target: Report) -> Report:
    """Ask the same through a reference client, in its own environment."""
    plan = meeting.plan
    request = {
        **target,
        "environment": plan.environment,
        "folder": str(peers.TOP),
        "revision": meeting.revision,
        "is_stateless": meeting.revision == STATELESS,
        "calls": plan.calls,
        "reads": plan.reads,
        "gets": plan.gets,
        "completions": plan.completions,
    }
    finished = subprocess.run(
        command,
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
