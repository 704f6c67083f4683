"""``mcpclient complete``: suggestions for an argument."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ..client.client import Client
from .arguments import parse_text_arguments
from .command import Answer, Command, Work
from .render import one_line
from .screen import Screen


def _prepare(words: Sequence[str], options: argparse.Namespace) -> Work:
    name, argument, value = words[:3]
    known = parse_text_arguments(words[3:])

    async def run(client: Client, screen: Screen) -> Answer:
        completion = await client.complete(_reference(name), argument, value, context=known)
        text = "\n".join(one_line(suggestion) for suggestion in completion.values)
        return Answer({"completion": completion.raw}, text)

    return run


def _reference(name: str) -> dict[str, str]:
    if "://" in name or "{" in name:
        return {"type": "ref/resource", "uri": name}
    return {"type": "ref/prompt", "name": name}


COMMAND = Command(
    "complete",
    _prepare,
    required=("PROMPT-OR-TEMPLATE", "ARGUMENT", "BEGINNING"),
    more="KNOWN=VALUE",
    details="Arguments that are already known may follow as KNOWN=VALUE. BEGINNING may be ''.",
)
