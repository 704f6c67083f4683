"""The front of a session, which hands a command with its streams and its environment over."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from mcpclient.sessions import front

pytestmark = pytest.mark.needs_posix


def test_a_listener_of_another_user_gets_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SHOW-12: neither words nor variables nor descriptors."""
    monkeypatch.setattr(front, "sessions_folder", lambda environ: str(tmp_path))
    monkeypatch.setattr(front, "is_private", lambda folder: True)
    monkeypatch.setattr(front, "peer_user", lambda connection: os.geteuid() + 1)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "it.run"))
        listener.listen()
        assert front.run_in_session(["call", "@it", "tool"]) is None
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(1000) == b""
