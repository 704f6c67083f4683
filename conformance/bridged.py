"""Put ``mcpclient bridge`` between reference clients and reference servers.

Each reference client asks a server everything in `conformance.live_plans` twice, directly and
through a bridge, and has to get the same; and so has the command line of the official Inspector.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from conformance import bridged_many, inspector_cli, live, peers, traces
from conformance.comparing import Comparison, Report, compare
from conformance.live_plans import Plan, plans
from conformance.results import FAILED, NOT_RUN, PASSED, STDIO, Row
from conformance.workspace import workspace
from mcpclient.protocol.negotiation import LATEST_HANDSHAKE

# The Inspector starts Node for each question: so many calls of a server, of these servers.
INSPECTED = ("everything-stdio", "mcp2-stdio", "mcp2-http", "sdk2-stdio")
INSPECTED_CALLS = 3

ENVIRONMENTS = (*live.ENVIRONMENTS, *live.CLIENTS.values(), inspector_cli.ENVIRONMENT)
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
    yield from bridged_many.run(bridge())


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
    row = partial(row, name=f"{meeting.name} for {inspector_cli.NAME}")
    questions = list(_questions(meeting.plan))
    bridged = {"command": through_bridge(meeting.plan, target)}
    reports = []
    for each in (target, bridged):
        said = inspector_cli.ask(inspector_cli.entry_of(each), questions)
        if said is None:
            return row(outcome=NOT_RUN, detail=peers.why_not(inspector_cli.ENVIRONMENT))
        reports.append({" ".join(asked): told for asked, told in zip(questions, said)})
    direct, through = reports
    return _judged(compare(inspector_cli.NAME, direct, through), row)


def _questions(plan: Plan) -> Iterator[list[str]]:
    for subject in ("tools", "resources", "resources/templates", "prompts"):
        yield [f"{subject}/list"]
    for name, arguments in plan.calls[:INSPECTED_CALLS]:
        yield inspector_cli.calling(name, arguments)
    for uri in plan.reads[:1]:
        yield ["resources/read", "--uri", uri]


def bridge() -> list[str]:
    """Return the command of a bridge that leaves its messages for `conformance.judged`."""
    return traces.tapped("bridged", BRIDGE, "--trace")


def through_bridge(plan: Plan, target: Report) -> list[str]:
    """Return the command of a bridge in front of a server."""
    if "command" not in target:
        transport = {"sse": ["--transport", "sse"]}.get(target["transport"], [])
        return [*bridge(), *transport, target["url"]]
    variables = [f"--env={name}={value}" for name, value in plan.environment.items()]
    return [*bridge(), "--quiet", *variables, "--", *target["command"]]
