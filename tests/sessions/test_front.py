"""The front of a session, which hands a command with its streams and its environment over."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcpclient.sessions import front

pytestmark = pytest.mark.needs_posix


@pytest.fixture
def listener(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    monkeypatch.setattr(front, "sessions_folder", lambda environ: str(tmp_path))
    tmp_path.chmod(0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "it.run"))
        listener.listen()
        listener.setblocking(False)
        socket.setdefaulttimeout(1)  # of a front that waits for an answer
        yield listener
        socket.setdefaulttimeout(None)


def test_a_listener_of_another_user_gets_nothing(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SHOW-12: neither words nor variables nor descriptors."""
    monkeypatch.setattr(front, "is_private", lambda folder: True)
    monkeypatch.setattr(front, "peer_user", lambda connection: os.geteuid() + 1)
    assert front.run_in_session(["call", "@it", "tool"]) is None
    connection, _ = listener.accept()
    with connection:
        assert connection.recv(1000) == b""


@pytest.mark.parametrize("reason", ["others may use the folder", "no stdin", "another command"])
def test_a_session_that_is_not_to_run_a_command_is_not_asked(
    reason: str, listener: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SHOW-12: the process itself runs it. Behind ``--`` stands the command of a server."""
    monkeypatch.setattr(front, "is_private", lambda folder: reason[0] != "o")
    if reason == "no stdin":
        monkeypatch.setattr(sys, "stdin", None)
    words = ["tools", "--", "@it"] if reason == "another command" else ["tools", "@it"]
    assert front.run_in_session(words) is None
    with pytest.raises(BlockingIOError):
        listener.accept()
