"""Servers of the project are distinguished from everything else that runs on the machine."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.tools import leftover_processes
from tests.tools.leftover_processes import TOP


def test_a_running_server_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    program = "import sys; print(flush=True); sys.stdin.read()"
    name = str(TOP / "tests" / "servers" / "pretended.py")
    with subprocess.Popen(
        [sys.executable, "-c", program, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdout is not None
        server.stdout.readline()
        code = leftover_processes.main()
        assert server.stdin is not None
        server.stdin.close()
    assert code == 1
    assert f"{server.pid}: " in capsys.readouterr().out
