"""The end of a program that has open clients: silent, and with nothing left behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from random import Random

import psutil
import pytest

from tests.net.process_helpers import is_alive, wait_until
from tests.support.subprocesses import TOP, lines_of
from tests.tools.soak.lanes import SERVER, free_port

pytestmark = pytest.mark.needs_posix

PROGRAM = TOP / "tests" / "servers" / "exiting_client.py"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The ledger and the port of a server for all transports, which listens."""
    port = free_port(Random())
    words = [str(tmp_path_factory.mktemp("exit") / "ledger"), str(port)]
    with subprocess.Popen(
        [*SERVER, *words], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        wait_until(lambda: listens(port), f"port {port} is open")
        yield words
        process.kill()


def listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


def members(group: int) -> list[int]:
    """The living processes of a group."""
    found = []
    for pid in psutil.pids():
        with suppress(ProcessLookupError, PermissionError):
            if os.getpgid(pid) == group and is_alive(pid):
                found.append(pid)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "exit_code", "last_words"),
    [
        ("many", 0, ""),
        ("thread", 0, ""),
        ("linger", 0, ""),
        ("exit", 7, ""),
        ("raise", 1, "LookupError: on purpose"),
        ("interrupt", -signal.SIGINT, "KeyboardInterrupt"),
        ("terminate", -signal.SIGTERM, ""),
    ],
)
def test_a_program_may_end_with_open_clients(
    way: str, exit_code: int, last_words: str, server: list[str]
) -> None:
    """F-LIFE-5, F-LIFE-8, F-STD-2: in development mode, and with warnings as errors."""
    options = ["-X", "dev", "-W", "error"]
    answer = subprocess.run(
        [sys.executable, *options, str(PROGRAM), way, *server],
        env={**os.environ, "PYTHONPATH": str(TOP)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert answer.stdout, answer.stderr
    errors = lines_of(answer.stderr)
    assert (errors[-1] if errors else "") == last_words, answer.stderr
    for noise in (
        "ignored",
        "never retrieved",
        "never awaited",
        "destroyed",
        "unclosed",
        "is closed",
    ):
        assert noise not in answer.stderr
    assert answer.returncode == exit_code
    for group in map(int, answer.stdout.split()):
        wait_until(lambda group=group: not members(group), f"{group} is gone")  # type: ignore[misc]
        assert not is_alive(group)
