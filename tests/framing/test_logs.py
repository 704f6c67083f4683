"""A server's words cannot forge a line of a log: F-SHOW-3."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import mcpclient
from mcpclient.framing.logs import logger_for


def test_a_logger_is_made_safe_once() -> None:
    logger = logger_for("mcpclient.a test")
    assert logger is logger_for("mcpclient.a test") is logging.getLogger("mcpclient.a test")
    assert len(logger.filters) == 1


def test_every_logger_of_the_package_is_such_a_one() -> None:
    """F-SHOW-3: so that no module has to think of it."""
    root = Path(mcpclient.__file__).parent
    plain = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if re.search(r'getLogger\("mcpclient\.', path.read_text(encoding="utf-8"))
    }
    assert not plain
