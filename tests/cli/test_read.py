"""``read``: read a resource."""

from __future__ import annotations

import pytest

from mcpclient import PeerError, UsageError
from tests.cli.in_process import ask, prepared


def test_a_text() -> None:
    """F-SHOW-1"""
    answer = ask("read", "demo://greeting/Ada")
    assert answer.text == "Hello, Ada!"
    assert answer.content == b"Hello, Ada!\n"
    assert answer.raw["contents"][0]["uri"] == "demo://greeting/Ada"


def test_an_image_is_noted_for_people_and_whole_for_files() -> None:
    """F-SHOW-1"""
    answer = ask("read", "demo://pixel")
    assert answer.text == "[demo://pixel, image/png, 70 bytes]"
    assert answer.content is not None
    assert answer.content.startswith(b"\x89PNG\r\n")


def test_what_is_not_there_and_what_is_not_said() -> None:
    """F-SHOW-2"""
    with pytest.raises(PeerError, match="Resource not found"):
        ask("read", "demo://nothing")
    with pytest.raises(UsageError, match="read needs URI"):
        prepared("read")
