"""``mcpclient resources``: what can be read."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ..client.client import Client
from ..errors import PeerError
from ..jsonrpc.messages import ErrorCode
from ..protocol.types import ResourceTemplate
from .command import Answer, Command, Work
from .render import one_line, table
from .screen import Screen


def _prepare(words: Sequence[str], options: argparse.Namespace) -> Work:
    return _run


async def _run(client: Client, screen: Screen) -> Answer:
    resources = await client.list_resources()
    templates = await _templates(client)
    found = [(item.uri, item) for item in resources]
    found_templates = [(item.uri_template, item) for item in templates]
    parts = []
    for title, items in (("RESOURCE", found), ("TEMPLATE", found_templates)):
        rows = [
            (one_line(uri), one_line(item.mime_type), one_line(item.description or item.title))
            for uri, item in items
        ]
        if rows:
            parts.append(table((title, "TYPE", "DESCRIPTION"), rows, screen.style))
    raw = {
        "resources": [item.raw for item in resources],
        "resourceTemplates": [item.raw for item in templates],
    }
    return Answer(raw, "\n\n".join(parts) or "no resources")


async def _templates(client: Client) -> list[ResourceTemplate]:
    """Return the templates; a server that has none may not even know this method."""
    try:
        return await client.list_resource_templates()
    except PeerError as error:
        if error.code != ErrorCode.METHOD_NOT_FOUND:
            raise
        return []


COMMAND = Command("resources", _prepare)
