"""Put ``mcpclient bridge`` between reference clients and reference servers.

Each reference client asks a server everything in `conformance.live_plans` twice, directly and
through a bridge, and has to get the same.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from conformance import live, peers
from conformance.comparing import Report, compare
from conformance.live_plans import Plan, plans
from conformance.results import FAILED, NOT_RUN, PASSED, STDIO, Row
from conformance.workspace import workspace

ENVIRONMENTS = live.ENVIRONMENTS
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
            return [_compared(name, meeting, target, row) for name in meeting.references]
    except Exception as error:
        detail = f"{type(error).__name__}: {error}"
        return [row(name=meeting.name, outcome=FAILED, detail=detail, checks=1)]


def _compared(reference: str, meeting: live.Meeting, target: Report, row: partial[Row]) -> Row:
    row = partial(row, name=f"{meeting.name} for {reference}")
    command = live.reference_command(reference)
    if command is None:
        return row(outcome=NOT_RUN, detail=peers.why_not(live.REFERENCES[reference]))
    bridged = {"command": through_bridge(meeting.plan, target), "transport": "stdio"}
    direct, through = (live.ask_reference(command, meeting, each) for each in (target, bridged))
    compared = compare(reference, direct, through)
    row = partial(row, checks=compared.checks, held=compared.held)
    if compared.differences:
        return row(outcome=FAILED, detail="; ".join(text for _, text in compared.differences[:5]))
    return row(outcome=PASSED, detail=f"{compared.checks} answers alike")


def through_bridge(plan: Plan, target: Report) -> list[str]:
    """Return the command of a bridge in front of a server."""
    if "command" not in target:
        transport = {"sse": ["--transport", "sse"]}.get(target["transport"], [])
        return [*BRIDGE, *transport, target["url"]]
    variables = [f"--env={name}={value}" for name, value in plan.environment.items()]
    return [*BRIDGE, "--quiet", *variables, "--", *target["command"]]
