"""Put ``mcpclient bridge`` in front of several reference servers at once.

Each reference client asks the servers of `MANY` everything in `conformance.live_plans`, each of
them directly and all of them through one gateway, and has to get the same by the names that the
gateway gives; and so has the command line of the official Inspector.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

from conformance import inspector_cli, live, peers
from conformance.comparing import Allowance, Comparison, Report, compare
from conformance.live_plans import HANDSHAKE, STATELESS, Plan, plans
from conformance.results import FAILED, NOT_RUN, PASSED, STDIO, Row
from conformance.workspace import workspace
from mcpclient.manager.naming import ToolNames

MANY = ("everything-stdio", "sdk2-stdio", "mcp2-http", "time", "memory")
"""Of four makers; two are stateless, one listens on HTTP."""

CLIENTS = (
    (live.PYTHON_SDK, STATELESS),
    (live.TYPESCRIPT_SDK, STATELESS),
    (live.PYTHON_SDK, HANDSHAKE[0]),
    (live.TYPESCRIPT_SDK, HANDSHAKE[0]),
    (live.PYTHON_SDK_1, HANDSHAKE[0]),
)

# The type and the hints of a stateless result: servers and hosts of both eras meet here.
_OF_AN_ERA = {"resultType", "ttlMs", "cacheScope"}
_OWN = "gateway://servers"

ALLOWANCES = (
    Allowance(
        live.TYPESCRIPT_SDK,
        r"tools\[[^\]]+\]\.execution is missing",
        "1.x, which asks servers of the handshake era, keeps what 2.x takes off",
    ),
)


def run(bridge: list[str]) -> Iterator[Row]:
    """Yield a row for each reference client; ``bridge``: the command of the bridge."""
    with workspace() as (folder, page), ExitStack() as stack:
        row = partial(Row, "bridged", transport=STDIO)
        chosen = [_known(plan) for plan in plans(folder, page) if plan.server in MANY]
        targets = {}
        for plan in chosen:
            command = peers.command(plan.server)
            if command is None:
                why = peers.why_not(peers.SERVERS[plan.server].environment)
                yield row(name="many", outcome=NOT_RUN, detail=why)
                return
            target = live.target_of(plan, [*command, *plan.arguments])
            targets[plan.server] = stack.enter_context(target)
        config = folder / "many.json"
        entries = {plan.server: _entry(plan, targets[plan.server]) for plan in chosen}
        config.write_text(json.dumps({"mcpServers": entries}), "utf-8")
        gateway = [*bridge, "--quiet", "--config", str(config), "--wait", "60"]
        for reference, revision in CLIENTS:
            try:
                yield _compared(reference, revision, chosen, targets, gateway, row)
            except (RuntimeError, subprocess.SubprocessError) as error:
                name = f"many {revision} for {reference}"
                yield row(name=name, revision=revision, outcome=FAILED, detail=str(error), checks=1)
        yield _inspected(chosen, targets, gateway, row)


def _known(plan: Plan) -> Plan:
    """Return a plan without names that its server does not know: the gateway answers for them."""
    calls = tuple(call for call in plan.calls if not call[0].startswith(("no-such", "no_such")))
    gets = tuple(get for get in plan.gets if not get[0].startswith("no-such"))
    reads = tuple(uri for uri in plan.reads if "no-such" not in uri and "no/such" not in uri)
    return replace(plan, calls=calls, gets=gets, reads=reads)


def _entry(plan: Plan, target: Report) -> Report:
    return {**inspector_cli.entry_of(target), "env": plan.environment}


def _inspected(
    chosen: list[Plan], targets: Mapping[str, Report], gateway: list[str], row: partial[Row]
) -> Row:
    """Call a tool of each server through the Inspector's command line."""
    row = partial(row, name=f"many for {inspector_cli.NAME}")
    names = Names([plan.server for plan in chosen])
    expected, questions = {}, {}
    for plan in chosen:
        name, arguments = plan.calls[1]  # the first may change something
        told = inspector_cli.ask(
            _entry(plan, targets[plan.server]), [inspector_cli.calling(name, arguments)]
        )
        if told is None:
            return row(outcome=NOT_RUN, detail=peers.why_not(inspector_cli.ENVIRONMENT))
        (expected[plan.server],) = told
        known_as = names.name(plan.server, name)
        questions[plan.server] = inspector_cli.calling(known_as, arguments)
    entry = inspector_cli.entry_of({"command": gateway})
    actual = dict(zip(questions, inspector_cli.ask(entry, questions.values()) or ()))
    return _judged(compare(inspector_cli.NAME, expected, actual), row)


def _compared(
    reference: str,
    revision: str,
    chosen: list[Plan],
    targets: Mapping[str, Report],
    gateway: list[str],
    row: partial[Row],
) -> Row:
    row = partial(row, name=f"many {revision} for {reference}", revision=revision)
    command = live.reference_command(reference)
    if command is None:
        return row(outcome=NOT_RUN, detail=peers.why_not(live.CLIENTS[reference]))
    names = Names([plan.server for plan in chosen])
    expected: Report = {}
    for plan in chosen:
        own = revision if revision in plan.revisions else plan.revisions[0]
        meeting = live.Meeting(plan, own)
        found = live.ask_reference(command, meeting, targets[plan.server])
        for key, value in names.of_report(plan.server, found).items():
            expected.setdefault(key, []).extend(value)
    together = Plan(
        "many",
        (revision,),
        calls=tuple((names.name(p.server, n), a) for p in chosen for n, a in p.calls),
        reads=tuple(uri for plan in chosen for uri in plan.reads),
        gets=tuple((names.name(p.server, n), a) for p in chosen for n, a in p.gets),
        completions=tuple(
            (names.name(plan.server, prompt), argument, value)
            for plan in chosen
            for prompt, argument, value in plan.completions
        ),
    )
    target = {"command": gateway, "transport": "stdio"}
    told = live.ask_reference(command, live.Meeting(together, revision), target)
    actual = {key: _plain(value) for key, value in told.items() if isinstance(value, list)}
    actual["resources"] = [each for each in actual["resources"] if each["uri"] != _OWN]
    return _judged(compare(reference, expected, actual, ALLOWANCES), row)


def _judged(compared: Comparison, row: partial[Row]) -> Row:
    row = partial(row, checks=compared.checks, held=compared.held)
    if compared.differences:
        detail = "; ".join(text for _, text in compared.differences[:5])
        return row(outcome=FAILED, detail=detail)
    return row(outcome=PASSED, detail=f"{compared.checks} answers alike")


class Names:
    """The names that a gateway gives to the tools and prompts of servers."""

    def __init__(self, servers: list[str]) -> None:
        self._names = ToolNames("server__tool", 50, servers)

    def name(self, server: str, name: str) -> str:
        """Return the name of a tool or a prompt of a server."""
        self._names.assign(server, [name])
        return self._names.names_of(server)[name]

    def of_report(self, server: str, report: Report) -> Report:
        """Return the answers in a report, by these names."""
        found = {key: _plain(value) for key, value in report.items() if isinstance(value, list)}
        for kind in ("tools", "prompts"):
            for item in found.get(kind, ()):
                item["name"] = self.name(server, item["name"])
        return found


def _plain(value: Any) -> Any:
    """Return an answer without what belongs to one era."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items() if key not in _OF_AN_ERA}
    return [_plain(each) for each in value] if isinstance(value, list) else value
