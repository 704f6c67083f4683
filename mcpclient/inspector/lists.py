"""What a server offers: its tools, resources, templates and prompts, as it sent them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from ..client.client import Client
from ..client.link.paging import MAX_PAGES
from ..errors import McpError, ProtocolViolation
from .described import described_error
from .oddities import odd_entries

__all__ = ["Lists", "fetch_lists", "known_lists"]

Lists = dict[str, Any]
"""``tools``, ``resources``, ``templates``, ``prompts``: each a list, entries as they came.
``odd``: what is wrong with entries, by list. ``errors``: why a list could not be had, by list."""

# Which capability promises which lists, the method that asks, and the name in its results.
_ASKED = (
    ("tools", "tools", "tools/list", "tools"),
    ("resources", "resources", "resources/list", "resources"),
    ("resources", "templates", "resources/templates/list", "resourceTemplates"),
    ("prompts", "prompts", "prompts/list", "prompts"),
)


async def fetch_lists(client: Client, *, fresh: bool = False) -> Lists:
    """Ask a server for its lists. One that fails is empty, and the reason stands in ``errors``.

    The entries are as the server sent them, odd ones included, and the client learns nothing from
    them: what the program that it belongs to does stays the same.
    """
    found: dict[str, list[Any]] = {name: [] for _, name, _, _ in _ASKED}
    errors: dict[str, Any] = {}
    for capability, name, method, key in _ASKED:
        if capability in client.capabilities:
            try:
                found[name] = await _pages(partial(client.request, method, fresh=fresh), key)
            except McpError as error:
                errors[name] = described_error(error)
    return known_lists(found, errors)


async def _pages(request: Any, key: str) -> list[Any]:
    """Return the entries of all pages, also those that are no objects."""
    entries: list[Any] = []
    params: dict[str, Any] = {}
    cursors: set[str] = set()
    for _ in range(MAX_PAGES):
        result: Mapping[str, Any] = await request(params)
        page = result.get(key)
        if not isinstance(page, list):
            raise ProtocolViolation(f"the server's answer has no list of {key}")
        entries += page
        cursor = result.get("nextCursor")
        if cursor is None:
            return entries
        if repr(cursor) in cursors:
            raise ProtocolViolation(f"the server gave the same cursor for {key} twice")
        cursors.add(repr(cursor))
        params = {"cursor": cursor}
    raise ProtocolViolation(f"the list of {key} did not end within {MAX_PAGES} pages")


def known_lists(found: Mapping[str, list[Any]], errors: Mapping[str, Any]) -> Lists:
    """Return lists that are there already, with what is odd about them."""
    odd = {name: odd_entries(name, entries) for name, entries in found.items()}
    return {**found, "odd": odd, "errors": dict(errors)}
