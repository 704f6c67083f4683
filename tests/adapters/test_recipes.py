"""The recipes of the guide in the real agent frameworks, where they are installed."""

from __future__ import annotations

import os
import subprocess

import pytest

from conformance import peers
from conformance.hosts.agents import MODELS
from tests.support.subprocesses import TOP

SERVER = TOP / "mcpclient" / "testing" / "demo_server.py"


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_recipe(name: str) -> None:
    """F-TOOL-10: a fake model sees the schema, calls the tool of a real server, has its result."""
    python = peers.python("agents")
    if python is None:
        pytest.skip(f"the agent frameworks are {peers.why_not('agents')}")
    done = subprocess.run(
        [python, "-W", "ignore", "-m", "conformance.hosts.agents", str(SERVER), name],
        cwd=TOP,
        env={**os.environ, "PYTHONPATH": str(TOP)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, f"     {name}: It is 3\n"), done.stderr
