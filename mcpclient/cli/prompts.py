"""``mcpclient prompts``: which prompts there are."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ..client.client import Client
from ..protocol.types import Prompt
from .command import Answer, Command, Work
from .render import one_line, table
from .screen import Screen


def _prepare(words: Sequence[str], options: argparse.Namespace) -> Work:
    return _run


async def _run(client: Client, screen: Screen) -> Answer:
    prompts = await client.list_prompts()
    rows = [
        (one_line(prompt.name), _arguments(prompt), one_line(prompt.description or prompt.title))
        for prompt in prompts
    ]
    header = ("PROMPT", "ARGUMENTS", "DESCRIPTION")
    text = table(header, rows, screen.style) if rows else "no prompts"
    return Answer({"prompts": [prompt.raw for prompt in prompts]}, text)


def _arguments(prompt: Prompt) -> str:
    return " ".join(
        one_line(argument.name) if argument.required else f"[{one_line(argument.name)}]"
        for argument in prompt.arguments
    )


COMMAND = Command("prompts", _prepare)
