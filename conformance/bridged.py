"""Put ``mcpclient bridge`` between reference clients and reference servers.

Each reference client asks a server everything in `conformance.live_plans` twice, directly and
through a bridge, and has to get the same; and so has the command line of the official Inspector.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from conformance import live, peers
from conformance.comparing import Comparison, Report, compare
from conformance.live_plans import Plan, plans
from conformance.results import FAILED, NOT_RUN, PASSED, STDIO, Row
from conformance.workspace import workspace
from mcpclient.protocol.negotiation import LATEST_HANDSHAKE

INSPECTOR = "the Inspector"
INSPECTOR_PROGRAM = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
# It starts Node for each question: so many calls of a server, of these servers.
INSPECTED = ("everything-stdio", "mcp2-stdio", "mcp2-http", "sdk2-stdio")
INSPECTED_CALLS = 3

ENVIRONMENTS = (*live.ENVIRONMENTS, *live.CLIENTS.values(), "node-hosts")
BRIDGE = [sys.executable, "-m", "mcpclient", "bridge"]


def run() -> Iterator[Row]:
    """Meet every server, and yield a row for each revision and reference client."""
    with workspace() as (folder, page), ThreadPoolExecutor(live.WORKERS) as workers:
        meetings = [
            live.Meeting(plan, revision)
            for plan in plans(folder, page)
            for revision in plan.revisions
        ]
        for rows in workers.map(_meet, meetings):
            yield from rows


def _meet(meeting: live.Meeting) -> list[Row]:
    plan = meeting.plan
    row = partial(Row, "bridged", revision=meeting.revision, transport=STDIO)
    command = peers.command(plan.server)
    if command is None:
        why = peers.why_not(peers.SERVERS[plan.server].environment)
        return [row(name=meeting.name, outcome=NOT_RUN, detail=why)]
    try:
        with live.target_of(plan, [*command, *plan.arguments]) as target:
            names = meeting.references
            if meeting.revision == LATEST_HANDSHAKE and live.PYTHON_SDK in names:
                names = [*names, live.PYTHON_SDK_1]
            rows = [_compared(name, meeting, target, row) for name in names]
            if plan.server in INSPECTED and meeting.pinned_version is None:
                rows.append(_inspected(meeting, target, row))
            return rows
    except Exception as error:
        detail = f"{type(error).__name__}: {error}"
        return [row(name=meeting.name, outcome=FAILED, detail=detail, checks=1)]


def _compared(reference: str, meeting: live.Meeting, target: Report, row: partial[Row]) -> Row:
    row = partial(row, name=f"{meeting.name} for {reference}")
    command = live.reference_command(reference)
    if command is None:
        return row(outcome=NOT_RUN, detail=peers.why_not(live.CLIENTS[reference]))
    bridged = {"command": through_bridge(meeting.plan, target), "transport": "stdio"}
    direct, through = (live.ask_reference(command, meeting, each) for each in (target, bridged))
    return _judged(compare(reference, direct, through), row)


def _judged(compared: Comparison, row: partial[Row]) -> Row:
    row = partial(row, checks=compared.checks, held=compared.held)
    if compared.differences:
        return row(outcome=FAILED, detail="; ".join(text for _, text in compared.differences[:5]))
    return row(outcome=PASSED, detail=f"{compared.checks} answers alike")


def _inspected(meeting: live.Meeting, target: Report, row: partial[Row]) -> Row:
    """Ask through the Inspector's command line, which says all that it gets."""
    row = partial(row, name=f"{meeting.name} for {INSPECTOR}")
    node = peers.node() if peers.is_installed("node-hosts") else None
    if node is None:
        return row(outcome=NOT_RUN, detail=peers.why_not("node-hosts"))
    program = [node, str(peers.node_module(INSPECTOR_PROGRAM, "node-hosts")), "--cli"]
    kept = ["PATH", "LANG"]
    with tempfile.TemporaryDirectory() as folder:
        home = {"HOME": folder, "MCP_INSPECTOR_SECRET_STORE": "memory"}
        environment = {**{name: os.environ.get(name, "") for name in kept}, **home}
        command, *arguments = through_bridge(meeting.plan, target)
        entries = {
            "direct": _entry(target),
            "bridged": {"command": command, "args": arguments, "cwd": str(peers.TOP)},
        }
        config = Path(folder, "servers.json")
        config.write_text(json.dumps({"mcpServers": entries}), "utf-8")

        def report(server: str) -> Report:
            asking = [*program, "--config", str(config), "--server", server, "--method"]
            found = {}
            for question in _questions(meeting.plan):
                said = subprocess.run(
                    [*asking, *question],
                    cwd=folder,
                    env=environment,
                    capture_output=True,
                    timeout=live.ASK_LIMIT,
                    check=False,
                )
                found[" ".join(question)] = [said.returncode, said.stdout.decode()]
            return {name: str(value) for name, value in found.items()}

        return _judged(compare(INSPECTOR, report("direct"), report("bridged")), row)


def _entry(target: Report) -> Report:
    if "url" in target:
        return {"type": "http", "url": target["url"]}
    command, *arguments = target["command"]
    return {"command": command, "args": arguments, "cwd": str(peers.TOP)}


def _questions(plan: Plan) -> Iterator[list[str]]:
    for subject in ("tools", "resources", "resources/templates", "prompts"):
        yield [f"{subject}/list"]
    for name, arguments in plan.calls[:INSPECTED_CALLS]:
        pairs = [f"{key}={json.dumps(value).strip(chr(34))}" for key, value in arguments.items()]
        yield ["tools/call", "--tool-name", name, *(["--tool-arg", *pairs] if pairs else [])]
    for uri in plan.reads[:1]:
        yield ["resources/read", "--uri", uri]


def through_bridge(plan: Plan, target: Report) -> list[str]:
    """Return the command of a bridge in front of a server."""
    if "command" not in target:
        transport = {"sse": ["--transport", "sse"]}.get(target["transport"], [])
        return [*BRIDGE, *transport, target["url"]]
    variables = [f"--env={name}={value}" for name, value in plan.environment.items()]
    return [*BRIDGE, "--quiet", *variables, "--", *target["command"]]
