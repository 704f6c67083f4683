"""``python -m conformance.hosts``: run every program of this folder where its packages are.

Each takes a few seconds, and needs packages that the tests of the library do without; so these are
not unit tests. The packages come from ``conformance/peers/python/hosts.txt``; `in_memory` runs
in the environments of the SDKs, too, and `agents` in the environment of the agent frameworks.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from conformance import peers

TOP = Path(__file__).parent.parent.parent
SERVER = TOP / "mcpclient" / "testing" / "demo_server.py"
HOSTED = (
    *("notebook", "uvicorn_endpoints", "threaded_views"),
    *("gunicorn_preload", "celery_workers", "prefork_pool"),
)
PROGRAMS = (
    *(("hosts", program) for program in HOSTED),
    ("agents", "agents"),
    *((environment, "in_memory") for environment in ("hosts", "mcp1", "mcp2", "fastmcp")),
)


def run(environment: str, program: str) -> bool:
    """Run one program, say how it went, and return whether it went well."""
    done = subprocess.run(
        [str(peers.interpreter(environment)), "-m", f"conformance.hosts.{program}", str(SERVER)],
        cwd=TOP,
        env={**os.environ, "PYTHONPATH": str(TOP), "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    is_well = done.returncode == 0 and "Traceback" not in done.stderr
    print(f"{'ok  ' if is_well else 'FAIL'} {program} ({environment})", flush=True)
    print(done.stdout if is_well else done.stdout + done.stderr, end="", flush=True)
    return is_well


def main() -> int:
    """Run all; 1 means that one of them failed."""
    failed = 0
    for environment, program in PROGRAMS:
        if peers.is_installed(environment):
            failed += not run(environment, program)
        else:
            print(f"skip {program}: python -m conformance.peers install {environment}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
