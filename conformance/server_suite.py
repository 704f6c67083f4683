"""Put ``mcpclient bridge`` between the official suite's scenarios of servers and a server.

The suite takes only a URL, so that `conformance.front` stands before the bridge. Check by check, a
scenario must come out as it does for the server itself.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from conformance import bridged, official, peers, traces
from conformance.official import LIMIT, RESULTS_NAME
from conformance.results import FAILED, NOT_RUN, PASSED, STDIO, Row
from conformance.workspace import listening
from mcpclient.protocol.negotiation import LATEST_HANDSHAKE, LATEST_STATELESS

ENVIRONMENTS = (*official.ENVIRONMENTS, "mcp2")
FRONT = [sys.executable, "-m", "conformance.front"]
GATEWAY = [
    sys.executable,
    "-c",
    "import asyncio, mcpclient, sys; words = sys.argv[1:]; "
    "options = {'trace': words.pop(0) if words[0].endswith('.jsonl') else None}; "
    "options.update(naming='tool', stderr='discard'); "
    "server = words[1:] if words[0] == '--' else words[0]; "
    "servers = mcpclient.Manager({'server': server}, **options); "
    "asyncio.run(mcpclient.bridge(servers, wait=60))",
]
SUITE = "@modelcontextprotocol/conformance/dist/index.js"

# They judge the way messages take, which is the front's, or extensions that the server has not.
LEFT_OUT = ("dns-", "http-", "server-sse-", "server-session-", "tasks-")
# A stateless host is asked in rounds of its bridge, under other names than the server's own.
OTHER_NAMES = ("input-required-",)
# A bridge to a handshake server does not offer subscriptions to changes of lists it has not.
OTHER_CHANGES = ("sep-2575-server-sends-",)

Checks = dict[str, dict[str, list[str]]]
"""The outcomes of each check of each scenario."""


@dataclass(frozen=True)
class Leg:
    """One way from the suite to the server.

    ``options``: of the bridge. ``is_gateway``: a gateway of one server in its place.
    """

    name: str
    revision: str
    is_stdio: bool = False
    is_gateway: bool = False
    options: tuple[str, ...] = ()
    left_out: tuple[str, ...] = LEFT_OUT
    other_checks: tuple[str, ...] = ()


LEGS = (
    *(
        Leg(
            f"gateway, {revision}",
            revision,
            is_stdio=True,
            is_gateway=True,
            other_checks=("sep-2575-http-server-method-not-found-404-initialize",),
        )
        for revision in (LATEST_HANDSHAKE, LATEST_STATELESS)
    ),
    *(
        Leg(f"{kind}, {revision}", revision, kind == "stdio")
        for revision in (LATEST_HANDSHAKE, LATEST_STATELESS)
        for kind in ("HTTP", "stdio")
    ),
    Leg(
        f"{LATEST_HANDSHAKE} before {LATEST_STATELESS}",
        LATEST_HANDSHAKE,
        options=("--protocol-version", LATEST_STATELESS),
    ),
    Leg(
        f"{LATEST_STATELESS} before {LATEST_HANDSHAKE}",
        LATEST_STATELESS,
        options=("--protocol-version", LATEST_HANDSHAKE),
        left_out=(*LEFT_OUT, *OTHER_NAMES),
        other_checks=OTHER_CHANGES,
    ),
)


def run() -> Iterator[Row]:
    """Run every leg, and yield a row for each scenario in it."""
    missing = [name for name in ENVIRONMENTS if not peers.is_installed(name)]
    python, node = peers.python("mcp2"), peers.node()
    if missing or python is None or node is None:
        why = peers.why_not((*missing, *official.ENVIRONMENTS)[0])
        yield Row("bridged", "the scenarios of servers", NOT_RUN, why)
        return
    server = [python, "-W", "ignore", "-m", "conformance.servers.scenarios"]
    with ThreadPoolExecutor(2) as workers:
        for rows in workers.map(partial(_compare, node, server), LEGS):
            yield from rows


def _compare(node: str, server: Sequence[str], leg: Leg) -> list[Row]:
    """Judge the server itself and the bridge before it."""
    with ExitStack() as stack:
        stdio = [*server, "stdio"]
        judged = [*FRONT, *stdio] if leg.is_stdio else [*server, "http"]
        direct = stack.enter_context(listening(judged, {}))
        target = ["--", *stdio] if leg.is_stdio else [f"http://127.0.0.1:{direct}/mcp"]
        gateway = traces.tapped("bridged", GATEWAY)
        bridge = gateway if leg.is_gateway else [*bridged.bridge(), "--quiet", *leg.options]
        command = [*FRONT, *bridge, *target]
        through = stack.enter_context(listening(command, {}))
        expected, found = (_judged(node, port, leg) for port in (direct, through))
    names = [name for name in expected if not name.startswith(leg.left_out)]
    if not names:
        return [Row("bridged", leg.name, FAILED, "the suite ran nothing", checks=1)]
    return [_row(leg, name, expected[name], found.get(name, {})) for name in names]


def _judged(node: str, port: int, leg: Leg) -> Checks:
    """Run the scenarios that a revision requires, and return their checks."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [
                *(node, str(peers.node_module(SUITE)), "server", "-o", folder),
                *("--url", f"http://127.0.0.1:{port}/mcp", "--requirements", leg.revision),
            ],
            cwd=peers.TOP,
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )
        judged: Checks = {}
        for file in sorted(Path(folder).rglob("checks.json")):
            named = RESULTS_NAME.fullmatch(file.parent.name)
            scenario = (named[1] if named else file.parent.name).removeprefix("server-")
            checks = judged.setdefault(scenario, {})
            for check in json.loads(file.read_text("utf-8")):
                if not check["id"].startswith(leg.other_checks or "-"):
                    checks.setdefault(check["id"], []).append(check["status"])
        return judged


def _row(
    leg: Leg, scenario: str, expected: dict[str, list[str]], found: dict[str, list[str]]
) -> Row:
    different = [
        f"{check} is {found.get(check)}, not {expected.get(check)}"
        for check in {**expected, **found}
        if found.get(check) != expected.get(check)
    ]
    statuses = Counter(status for each in expected.values() for status in each)
    checks = len({**expected, **found})
    row = partial(
        Row,
        "bridged",
        f"{scenario} ({leg.name})",
        revision=leg.revision,
        transport=STDIO,
        checks=checks,
        held=checks - len(different),
        group=f"bridged: {leg.name}",
        skipped=statuses["SKIPPED"],
    )
    if different:
        return row(FAILED, "; ".join(different[:3]))
    return row(PASSED, f"{checks} checks as without a bridge")
