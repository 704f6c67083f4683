"""``python -m conformance.capture.official [NAME ...]``: record scenarios of the official suite.

The suite judges this library's own client, so there is no other client to compare with: a session
is written down only where every check of the suite has passed, and how many did stands in its
header. Replayed, it holds the library to the behaviour that the suite has accepted.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from conformance import official, peers
from conformance.client_driver import SCENARIOS
from conformance.results import PASSED
from mcpclient.recording.transcript import write_line

TRANSCRIPTS = Path(__file__).parents[1] / "transcripts" / "official"

LEFT_OUT = {
    "auth/client-credentials-jwt": "the key that it signs with is a secret",
    "auth/offline-access-scope": "the scope 'mcp:basic offline_access' is hidden, as credentials",
    "auth/dpop": "its proofs are made anew each time, and signed",
    "auth/dpop-nonce": "its proofs are made anew each time, and signed",
}
"""The scenarios that cannot be replayed, and why."""

PROGRAM = shlex.join([sys.executable, "-m", "conformance.capture.official_client"])


def main(names: list[str]) -> int:
    """Record the scenarios whose names have one of the names in them; return an exit code."""
    chosen = [
        scenario
        for scenario in sorted(SCENARIOS.keys() - LEFT_OUT)
        if not names or any(name in scenario for name in names)
    ]
    passed = [record(scenario) for scenario in chosen]
    return int(not all(passed))


def record(scenario: str) -> bool:
    """Record one scenario, say so, and return whether it has passed."""
    program = peers.node_module("@modelcontextprotocol/conformance/dist/index.js")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(
            [
                *(peers.node() or "node", str(program), "client", "--command", PROGRAM),
                *("--scenario", scenario, "-o", str(folder)),
            ],
            cwd=peers.TOP,
            env={**os.environ, "MCP_CONFORMANCE_RECORDED": str(folder)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        for checks in folder.rglob("checks.json"):
            return keep(scenario, checks, folder)
    print(f"{scenario}: the suite ran nothing")
    return False


def keep(scenario: str, checks: Path, folder: Path) -> bool:
    """Keep the transcript of a scenario that has passed."""
    row = official.judge("all", checks, folder)
    print(f"{scenario}: {row.outcome}, {row.detail}", flush=True)
    if row.outcome != PASSED:
        return False
    header, *records = (folder / file_name(scenario)).read_text("utf-8").splitlines(keepends=True)
    header = write_line({**json.loads(header), "passed": row.checks})
    TRANSCRIPTS.mkdir(parents=True, exist_ok=True)
    (TRANSCRIPTS / file_name(scenario)).write_text("".join([header, *records]), "utf-8")
    return True


def file_name(scenario: str) -> str:
    """Return the name of a scenario's transcript."""
    return f"{scenario.replace('/', '-')}.jsonl"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
