"""``mcpclient read``: read a resource."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ..client.client import Client
from .command import Answer, Command, Work
from .render import contents
from .screen import Screen


def _prepare(words: Sequence[str], options: argparse.Namespace) -> Work:
    (uri,) = words

    async def run(client: Client, screen: Screen) -> Answer:
        result = await client.read_resource(uri)
        return Answer(result.raw, contents(result.contents, screen.style), content=result.data)

    return run


COMMAND = Command(
    "read",
    _prepare,
    required=("URI",),
    details="To a file or a pipe, the bytes of the resource are written exactly as they are.",
)
