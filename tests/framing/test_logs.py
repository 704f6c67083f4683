"""What a server says cannot forge a line of a log: F-SHOW-3."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

import mcpclient
from mcpclient.framing.logs import logger_for

FORGED = "ok\nERROR root: all is lost\x1b[2J\u2028end"


def test_what_a_record_quotes_stays_on_its_line(caplog: pytest.LogCaptureFixture) -> None:
    """F-SHOW-3: texts and exceptions, wherever they are quoted."""
    logger = logger_for("mcpclient.a test")
    logger.warning("%s: %s after %d, %r", "server", ValueError(FORGED), 3, FORGED)
    logger.warning("nothing quoted")
    assert caplog.messages[1] == "nothing quoted"
    assert caplog.messages[0].isprintable()
    assert caplog.messages[0].startswith(r"server: ok\nERROR root: all is lost\x1b[2J\u2028end")


def test_a_mapping_of_arguments_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    logger_for("mcpclient.a test").warning("%(count)d lines", {"count": 2})
    assert caplog.messages == ["2 lines"]


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
