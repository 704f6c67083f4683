"""``mcpclient info``: who the server is."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..client.client import Client
from ..framing.escaping import escape
from .command import Answer, Command, Work
from .definitions import definitions
from .render import one_line
from .screen import Screen


def _prepare(words: Sequence[str], options: argparse.Namespace) -> Work:
    return _run


async def _run(client: Client, screen: Screen) -> Answer:
    server = client.server_info
    name = " ".join(filter(None, [server.name, server.version])) or "unknown"
    rows = [
        ("server", one_line(f"{server.title} ({name})" if server.title else name)),
        ("revision", one_line(client.protocol_version)),
        ("transport", client.transport_name),
        ("capabilities", ", ".join(_abilities(client.capabilities)) or "none"),
    ]
    columns = screen.style.columns
    text = definitions(rows, columns and columns - 1)
    if client.instructions:
        text += "\n\n" + escape(client.instructions.strip())
    raw = {
        "serverInfo": server.raw,
        "protocolVersion": client.protocol_version,
        "transport": client.transport_name,
        "capabilities": client.capabilities,
        "instructions": client.instructions,
    }
    return Answer(raw, text)


def _abilities(capabilities: Mapping[str, Any]) -> Iterator[str]:
    for name, details in sorted(capabilities.items()):
        flags = [key for key in details if details[key]] if isinstance(details, dict) else []
        yield one_line(f"{name} ({', '.join(flags)})" if flags else name)


COMMAND = Command("info", _prepare)
