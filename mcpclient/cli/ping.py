"""``mcpclient ping``: see whether the server answers."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence

from ..client.client import Client
from .command import Answer, Command, Work
from .screen import Screen


def _prepare(words: Sequence[str], options: argparse.Namespace) -> Work:
    return _run


async def _run(client: Client, screen: Screen) -> Answer:
    loop = asyncio.get_running_loop()
    started = loop.time()
    await client.ping()
    milliseconds = round((loop.time() - started) * 1000, 3)
    return Answer({"milliseconds": milliseconds}, f"answered in {milliseconds:.1f} ms")


COMMAND = Command("ping", _prepare)
