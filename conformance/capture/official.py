"""``python -m conformance.capture.official``: record the scenarios of the official suite.

The suite judges this library's own client, so there is no other client to compare with: a session
is written down only where every check of the suite has passed, and how many did stands in its
header. Replayed, it holds the library to what the suite has accepted.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from conformance import official, peers
from conformance.results import PASSED
from mcpclient.recording.transcript import write_line

TRANSCRIPTS = Path(__file__).parents[1] / "transcripts" / "official"

LEFT_OUT = {
    "auth/client-credentials-jwt": "the key that it signs with is a secret",
    "auth/dpop": "its proofs are made anew each time, and signed",
    "auth/dpop-nonce": "its proofs are made anew each time, and signed",
}
"""The scenarios that cannot be replayed, and why."""

PROGRAM = shlex.join([sys.executable, "-m", "conformance.capture.official_client"])


def main() -> int:
    """Run the whole suite once; return an exit code."""
    program = peers.node_module("@modelcontextprotocol/conformance/dist/index.js")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(
            [
                *(peers.node() or "node", str(program), "client", "--command", PROGRAM),
                *("--suite", "all", "-o", str(folder)),
            ],
            cwd=peers.TOP,
            env={**os.environ, "MCP_CONFORMANCE_RECORDED": str(folder)},
            stdout=subprocess.DEVNULL,
            check=False,
        )
        kept = [keep(checks, folder) for checks in sorted(folder.rglob("checks.json"))]
        return int(not kept or not all(kept))


def keep(checks: Path, folder: Path) -> bool:
    """Keep the transcript of a scenario that has passed, say so, and return whether it has."""
    row = official.judge("all", checks, folder)
    scenario = row.name.partition(" ")[0]
    recorded = folder / file_name(scenario)
    if scenario in LEFT_OUT:
        print(f"{scenario}: left out, as {LEFT_OUT[scenario]}")
    elif row.outcome != PASSED or not recorded.exists():
        print(f"{scenario}: {row.outcome}: {row.detail}")
        return False
    else:
        header, *records = recorded.read_text("utf-8").splitlines(keepends=True)
        counts = Counter(check["status"] for check in json.loads(checks.read_text("utf-8")))
        header = write_line({**json.loads(header), "passed": counts["SUCCESS"]})
        TRANSCRIPTS.mkdir(parents=True, exist_ok=True)
        (TRANSCRIPTS / recorded.name).write_text("".join([header, *records]), "utf-8")
        print(f"{scenario}: {len(records)} records, {row.detail}")
    return True


def file_name(scenario: str) -> str:
    """Return the name of a scenario's transcript."""
    return f"{scenario.replace('/', '-')}.jsonl"


if __name__ == "__main__":
    sys.exit(main())
