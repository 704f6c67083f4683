"""``mcpclient prompt``: fill in a prompt."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ..client.client import Client
from .arguments import parse_text_arguments
from .command import Answer, Command, Work
from .render import contents, one_line
from .screen import Screen


def _prepare(words: Sequence[str], options: argparse.Namespace) -> Work:
    name, values = words[0], parse_text_arguments(words[1:])

    async def run(client: Client, screen: Screen) -> Answer:
        result = await client.get_prompt(name, values)
        style = screen.style
        messages = [
            f"{style.bold(one_line(message.role) + ':')} {contents([message.content], style)}"
            for message in result.messages
        ]
        return Answer(result.raw, "\n".join(messages))

    return run


COMMAND = Command(
    "prompt",
    _prepare,
    required=("PROMPT",),
    more="ARGUMENT",
    details=(
        "Arguments are strings: key=value or key=@file, or all of them as one JSON object, on the "
        "command line, as @file.json, or from stdin as -."
    ),
)
