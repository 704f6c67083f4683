"""The guard sees each kind of leak, and waits for objects that are about to end."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading

import pytest

from tests.support import leaks
from tests.support.leaks import Resources, left_behind


@pytest.fixture(autouse=True)
def _short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaks, "GRACE", 0.05)


def test_a_socket_is_seen() -> None:
    before = Resources.held_now()
    server = socket.create_server(("127.0.0.1", 0))
    seen = left_behind(before)
    server.close()
    assert len(seen) == 1
    assert seen[0].startswith("1 more open: ") and "socket " in seen[0]
    assert left_behind(before) == []


def test_a_child_process_is_seen() -> None:
    before = Resources.held_now()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        seen = left_behind(before)
    assert any(f"process {process.pid} (" in text and "input()" in text for text in seen)
    assert left_behind(before) == []


def test_what_is_about_to_end_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaks, "GRACE", 60)
    before = Resources.held_now()
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    timer = threading.Timer(0.05, stop.set)
    timer.start()
    assert left_behind(before) == []
    timer.join()
    thread.join()
