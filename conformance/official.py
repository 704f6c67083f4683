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
from pathlib import Path
from typing import Any

from conformance import peers
from conformance.client_driver import SCENARIOS
from conformance.results import FAILED, NOT_RUN, PASSED, Row

MODES = {
    "all": ("--suite", "all"),
    "required by 2025-11-25": ("--requirements", "2025-11-25"),
    "required by 2026-07-28": ("--requirements", "2026-07-28"),
}

# Real seconds for one mode; the suite gives each scenario 30.
LIMIT = 300

DRIVER = shlex.join([sys.executable, "-m", "conformance.client_driver"])

# The suite names a folder of results after the scenario and the time.
RESULTS_NAME = re.compile(r"(.+)-\d{4}-\d\d-\d\dT[\d-]+Z")


def run() -> Iterator[Row]:
    """Run every mode, and yield one row for each scenario in it."""
    program = peers.node_module("@modelcontextprotocol/conformance/dist/index.js")
    node = peers.node()
    if node is None or not peers.is_installed("node-servers"):
        reason = "python -m conformance.peers install node-servers"
        if peers.is_installed("node-servers"):
            reason = f"needs Node.js {peers.NODE_MAJOR} or newer"
        yield Row("official", "every scenario", NOT_RUN, reason)
        return
    for mode, options in MODES.items():
        with tempfile.TemporaryDirectory() as folder:
            command = [node, str(program), "client", "--command", DRIVER, *options, "-o", folder]
            suite = subprocess.run(
                command, cwd=peers.TOP, capture_output=True, text=True, timeout=LIMIT, check=False
            )
            results = sorted(Path(folder).rglob("checks.json"))
            if not results:
                problem = (suite.stderr or suite.stdout).strip()[-500:]
                yield Row("official", mode, FAILED, f"the suite ran nothing: {problem}")
            for checks in results:
                yield judge(mode, checks, Path(folder))


def judge(mode: str, checks_file: Path, folder: Path) -> Row:
    """Turn the checks of one scenario into a row: some have to pass, and none may do otherwise."""
    directory = checks_file.parent.relative_to(folder).as_posix()
    named = RESULTS_NAME.fullmatch(directory)
    scenario = named.group(1) if named else directory
    name = f"{scenario} ({mode})"
    if scenario not in SCENARIOS:
        return Row("official", name, NOT_RUN, "the driver does not know this scenario")
    checks: list[dict[str, Any]] = json.loads(checks_file.read_text("utf-8"))
    counts = Counter(check["status"] for check in checks)
    passed = counts["SUCCESS"]
    bad = [check for check in checks if check["status"] in ("FAILURE", "WARNING")]
    if bad:
        problems = "; ".join(_problem(check) for check in bad[:3])
        return Row("official", name, FAILED, f"{passed} passed, {len(bad)} did not: {problems}")
    if not passed:
        return Row("official", name, FAILED, f"no check passed{_last_words(checks_file)}")
    return Row("official", name, PASSED, f"{passed} checks")


def _problem(check: dict[str, Any]) -> str:
    reason = check.get("errorMessage") or (check.get("details") or {}).get("message", "")
    return f"{check['status']} {check['id']} {reason}".strip()


def _last_words(checks_file: Path) -> str:
    """Return the last line our driver wrote to stderr, if it wrote any."""
    errors = checks_file.with_name("stderr.txt")
    lines = errors.read_text("utf-8").strip().splitlines() if errors.exists() else []
    return f": {lines[-1]}" if lines else ""
