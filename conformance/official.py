"""Run the official conformance suite against this library, and judge by its checks.

The suite starts `conformance.client_driver` for every client scenario, all of them at once: as a
whole, and as each revision's requirement set. What it prints as a success is not trusted, because
a scenario that checked nothing counts as one there; its results are read from its files instead.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from conformance import peers
from conformance.client_driver import SCENARIOS
from conformance.results import FAILED, NOT_RUN, PASSED, STREAMABLE_HTTP, Row
from mcpclient.protocol.negotiation import LATEST_STATELESS

ENVIRONMENTS = ("node-servers",)

MODES = {
    "all scenarios": ("--suite", "all"),
    "required by 2025-11-25": ("--requirements", "2025-11-25"),
    "required by 2026-07-28": ("--requirements", "2026-07-28"),
}

# Real seconds for one mode, and for each scenario; the suite would give that 30, which a busy
# machine takes to start as many clients at once.
LIMIT = 400
SCENARIO_LIMIT = 120

DRIVER = shlex.join([sys.executable, "-m", "conformance.client_driver"])

# The suite names a folder of results after the scenario and the time.
RESULTS_NAME = re.compile(r"(.+)-\d{4}-\d\d-\d\dT[\d-]+Z")


def run() -> Iterator[Row]:
    """Run every mode, and yield one row for each scenario in it."""
    program = peers.node_module("@modelcontextprotocol/conformance/dist/index.js")
    node = peers.node()
    if node is None or not peers.is_installed("node-servers"):
        yield Row("official", "every scenario", NOT_RUN, peers.why_not("node-servers"))
        return
    for mode, options in MODES.items():
        with tempfile.TemporaryDirectory() as folder:
            command = [
                *(node, str(program), "client", "--command", DRIVER, *options, "-o", folder),
                *("--timeout", str(SCENARIO_LIMIT * 1000)),
            ]
            suite = subprocess.run(
                command, cwd=peers.TOP, capture_output=True, text=True, timeout=LIMIT, check=False
            )
            results = sorted(Path(folder).rglob("checks.json"))
            if not results:
                problem = (suite.stderr or suite.stdout).strip()[-500:]
                detail = f"the suite ran nothing: {problem}"
                yield Row("official", mode, FAILED, detail, checks=1)
            for checks in results:
                yield judge(mode, checks, Path(folder))


def judge(mode: str, checks_file: Path, folder: Path) -> Row:
    """Turn the checks of one scenario into a row: some have to pass, and none may do otherwise."""
    directory = checks_file.parent.relative_to(folder).as_posix()
    named = RESULTS_NAME.fullmatch(directory)
    scenario = named.group(1) if named else directory
    row = partial(Row, "official", f"{scenario} ({mode})", group=mode)
    if scenario not in SCENARIOS:
        # A new release of the suite asks for more: that is to be seen, and to be answered.
        return row(FAILED, "the driver does not know this scenario", checks=1)
    checks: list[dict[str, Any]] = json.loads(checks_file.read_text("utf-8"))
    counts = Counter(check["status"] for check in checks)
    passed, warnings = counts["SUCCESS"], counts["WARNING"]
    row = partial(
        row,
        # Where no revision was spoken, the one that is asked for first.
        revision=_printed(checks_file, "stdout.txt") or LATEST_STATELESS,
        transport=STREAMABLE_HTTP,
        checks=passed + counts["FAILURE"] + warnings or 1,
        held=passed,
        warnings=warnings,
        skipped=counts["SKIPPED"],
    )
    bad = [check for check in checks if check["status"] in ("FAILURE", "WARNING")]
    if bad:
        problems = "; ".join(_problem(check) for check in bad[:3])
        return row(FAILED, f"{passed} passed, {len(bad)} did not: {problems}")
    if not passed:
        last_words = _printed(checks_file, "stderr.txt")
        return row(FAILED, f"no check passed: {last_words}".removesuffix(": "))
    return row(PASSED, f"{passed} checks")


def _problem(check: dict[str, Any]) -> str:
    reason = check.get("errorMessage") or (check.get("details") or {}).get("message", "")
    return f"{check['status']} {check['id']} {reason}".strip()


def _printed(checks_file: Path, stream: str) -> str:
    """Return the last line that our driver printed; to stdout, it prints the revision."""
    file = checks_file.with_name(stream)
    lines = file.read_text("utf-8").strip().splitlines() if file.exists() else []
    return lines[-1] if lines else ""
