"""The agent loops of the guide, one for each provider, taken from its text."""

from __future__ import annotations

import asyncio
from typing import Any

from mcpclient.cli.help import chapter
from tests.support.prose import blocks_of

_NAMES = ("anthropic", "openai_chat", "openai_responses", "google", "bedrock")


def _loops() -> dict[str, Any]:
    defined: dict[str, Any] = {"MODEL": "model-1", "asyncio": asyncio}
    for block in blocks_of(chapter("models")):
        if block.mark == "loop":
            exec(block.text, defined)
    return defined


_DEFINED = _loops()
LOOPS = {name: _DEFINED[name] for name in _NAMES}
"""By the provider's name: ``await loop(llm, client, question)`` returns the last answer."""

STREAMED = _DEFINED["streamed"]
"""The loop with a stream and a limit of turns: it returns all messages."""
