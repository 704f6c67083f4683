"""What a server offers: its tools, resources, templates and prompts, as it sent them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..client.client import Client
from ..client.connection.paging import all_pages
from ..errors import McpError, ProtocolViolation
from ..recording.conversation import Conversation
from .described import described_error
from .oddities import odd_entries

Lists = dict[str, Any]
"""``tools``, ``resources``, ``templates``, ``prompts``: each a list, entries as they came.
``odd``: what is wrong with entries, by list. ``errors``: why a list could not be had, by list."""

# Which capability promises which lists, the method that asks, and the name in its results.
_LISTS = (
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
    found: dict[str, list[Any]] = {name: [] for _, name, _, _ in _LISTS}
    errors: dict[str, Any] = {}
    for capability, name, method, key in _LISTS:
        if capability in client.capabilities:
            try:
                found[name] = await _entries(client, method, key, fresh=fresh)
            except McpError as error:
                errors[name] = described_error(error)
    return known_lists(found, errors)


async def _entries(client: Client, method: str, key: str, *, fresh: bool) -> list[Any]:
    """Return the entries of all pages, also those that are no objects."""
    entries: list[Any] = []

    async def fetch(params: Mapping[str, Any]) -> Mapping[str, Any]:
        result: Mapping[str, Any] = await client.request(method, params, fresh=fresh)
        page = result.get(key)
        if not isinstance(page, list):
            raise ProtocolViolation(f"the server's answer has no list of {key}")
        entries.extend(page)
        return result

    await all_pages(fetch, key)
    return entries


def recorded_lists(conversation: Conversation) -> dict[str, list[Any]]:
    """Return the lists of a recorded server as they were last asked for, all pages of each."""
    found: dict[str, list[Any]] = {}
    for _, name, method, key in _LISTS:
        pages: list[Any] = []
        for call in conversation.calls:
            result = call.answer.get("result") if call.answer is not None else None
            if call.request["method"] != method or not isinstance(result, dict):
                continue
            params = call.request.get("params")
            if not (isinstance(params, dict) and "cursor" in params):
                pages = []  # it was asked for anew
            page = result.get(key)
            pages += page if isinstance(page, list) else []
        found[name] = pages
    return found


def known_lists(found: Mapping[str, list[Any]], errors: Mapping[str, Any]) -> Lists:
    """Return lists that are there already, with what is odd about them."""
    odd = {name: odd_entries(name, entries) for name, entries in found.items()}
    return {**found, "odd": odd, "errors": dict(errors)}
