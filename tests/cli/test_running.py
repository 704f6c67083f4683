"""One command from its words to its exit code, within this process; `test_main` has the rest."""

from __future__ import annotations

import argparse
import io
import logging
from typing import Any

import pytest

from mcpclient import PeerError
from mcpclient.cli import running
from mcpclient.cli.screen import Screen


def test_an_error_is_escaped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """F-SHOW-3: its text may be a server's."""

    def understand(words: list[str]) -> Any:
        raise PeerError(-32000, "no \x1b[31mpaper")

    monkeypatch.setattr(running, "understand", understand)
    assert running.run(["ping"]) == 5
    shown = capsys.readouterr().err
    assert r"no \x1b[31mpaper" in shown
    assert "\x1b[31m" not in shown


def test_the_log_is_left_as_it_was() -> None:
    """F-SHOW-2: for a program that runs several commands, and for its own log."""
    logger = logging.getLogger("mcpclient")
    before = (logger.level, list(logger.handlers))
    request: Any = argparse.Namespace(options=argparse.Namespace(debug=True))
    with running._log_lines(Screen(io.StringIO(), io.StringIO(), {}), request):
        assert logger.level == logging.DEBUG
        assert len(logger.handlers) == len(before[1]) + 1
    assert (logger.level, list(logger.handlers)) == before
