"""``prompt``: fill in a prompt."""

from __future__ import annotations

import pytest

from mcpclient import PeerError
from tests.cli.in_process import ask


def test_a_prompt_is_filled_in() -> None:
    """F-SHOW-1: its arguments are strings, whatever they look like."""
    answer = ask("prompt", "haiku", "topic=42", "mood=calm")
    assert answer.text == "user: Write a haiku about 42 in a calm mood."
    assert answer.raw["messages"][0]["role"] == "user"


def test_every_message_is_shown_and_escaped() -> None:
    """F-SHOW-3"""
    messages = [
        {"role": "user", "content": {"type": "text", "text": "\x1b[31mred"}},
        {"role": "assistant\x1b", "content": {"type": "image", "mimeType": "a/b", "data": ""}},
    ]
    answer = ask("prompt", "x", answers={"prompts/get": {"messages": messages}})
    assert answer.text == "user: \\x1b[31mred\nassistant\\x1b: [image, a/b, 0 bytes]"


def test_a_prompt_that_is_refused() -> None:
    """F-SHOW-2"""
    with pytest.raises(PeerError, match="needs a topic"):
        ask("prompt", "haiku")
