"""The lists that a server offers, and the issues of their schemas."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ..client.client import Client
from ..client.connection.connection import all_pages
from ..errors import McpError, ProtocolViolation
from ..net.clocks import steady_seconds
from ..protocol.schema_on_demand import compile_schema
from ..recording.conversation import Conversation
from .described import described_error

Lists = dict[str, Any]
"""``tools``, ``resources``, ``templates``, ``prompts``: each a list of entries as they came.
``errors``: the error of a list that failed, by list."""

# Of each list: its capability, its name, its method, and its name in results.
_LISTS = (
    ("tools", "tools", "tools/list", "tools"),
    ("resources", "resources", "resources/list", "resources"),
    ("resources", "templates", "resources/templates/list", "resourceTemplates"),
    ("prompts", "prompts", "prompts/list", "prompts"),
)


async def fetch_lists(client: Client, *, fresh: bool = False) -> Lists:
    """Fetch the lists of a server. One that fails is empty, and its error is in ``errors``.

    Entries are as the server sent them, malformed ones included. The client does not remember them,
    so that the program it belongs to behaves as it does without an inspector.
    """
    found: dict[str, list[Any]] = {name: [] for _, name, _, _ in _LISTS}
    errors: dict[str, Any] = {}
    for capability, name, method, key in _LISTS:
        if capability in client.capabilities:
            try:
                found[name] = await _entries(client, method, key, fresh=fresh)
            except McpError as error:
                errors[name] = described_error(error)
    return {**found, "errors": errors}


async def _entries(client: Client, method: str, key: str, *, fresh: bool) -> list[Any]:
    entries: list[Any] = []

    async def fetch(params: Mapping[str, Any]) -> Mapping[str, Any]:
        result: Mapping[str, Any] = await client.request(method, params, fresh=fresh)
        page = result.get(key)
        if not isinstance(page, list):
            raise ProtocolViolation(f"the result of {method} has no list {key!r}")
        entries.extend(page)
        return result

    await all_pages(fetch, key)
    return entries


def recorded_lists(conversation: Conversation) -> dict[str, list[Any]]:
    """Return the lists of a recorded server as they were last fetched, all pages of each."""
    found: dict[str, list[Any]] = {}
    for _, name, method, key in _LISTS:
        pages: list[Any] = []
        for call in conversation.calls:
            result = call.answer.get("result") if call.answer is not None else None
            if call.request["method"] != method or not isinstance(result, dict):
                continue
            params = call.request.get("params")
            if not (isinstance(params, dict) and "cursor" in params):
                pages = []  # a new listing begins without a cursor
            page = result.get(key)
            pages += page if isinstance(page, list) else []
        found[name] = pages
    return found


_SCHEMAS = ("inputSchema", "outputSchema")

# Seconds of checking after which other tasks run.
_TURN = 0.01


class ListingIssue(NamedTuple):
    """A defect of an entry in a list: the entry's index and name, the field, and the reason."""

    entry: int
    name: str
    field: str
    reason: str


async def schema_issues(tools: Iterable[Any]) -> list[ListingIssue]:
    """Return the issues of tools whose schemas are not JSON Schema. Other tasks run in between."""
    found: list[ListingIssue] = []
    clock = asyncio.get_running_loop().time
    began = clock()
    for index, tool in enumerate(tools):
        schemas = {name: tool.get(name) for name in _SCHEMAS} if isinstance(tool, Mapping) else {}
        for field, schema in schemas.items():
            try:
                if isinstance(schema, Mapping):
                    compile_schema(schema, clock=steady_seconds)
            except (McpError, ValueError) as error:
                name = tool["name"] if isinstance(tool.get("name"), str) else ""
                found.append(ListingIssue(index, name, field, f"is not a JSON Schema: {error}"))
        if clock() - began > _TURN:
            await asyncio.sleep(0)
            began = clock()
    return found
