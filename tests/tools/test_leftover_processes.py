"""Servers of the project are told from everything else that runs on the machine."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.tools import leftover_processes
from tests.tools.leftover_processes import TOP, Process


@pytest.mark.parametrize(
    "command",
    [
        [sys.executable, str(TOP / "tests" / "servers" / "fake.py")],
        [sys.executable, "-u", "-m", "conformance.servers.modern"],
        ["node", str(TOP / ".peers" / "node" / "server.js"), "stdio"],
    ],
)
def test_a_server(command: list[str]) -> None:
    assert Process(1, command, TOP).is_server()


@pytest.mark.parametrize(
    "command",
    [
        [""],
        ["node", "/elsewhere/tests/server.js"],
        [sys.executable, "-m", "pytest", str(TOP / "tests" / "test_errors.py")],
        [sys.executable, "-m"],
    ],
)
def test_anything_else(command: list[str]) -> None:
    assert not Process(1, command, TOP).is_server()


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
