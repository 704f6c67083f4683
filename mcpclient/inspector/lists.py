"""The lists that a server offers, as it sent them, and the issues of their entries."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..client.client import Client
from ..client.connection.paging import all_pages
from ..errors import McpError, ProtocolViolation
from ..net.clocks import steady_seconds
from ..protocol.schema_on_demand import compile_schema
from ..recording.conversation import Conversation
from .described import described_error

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


# What each list's entries are told apart by, and have to have.
_REQUIRED = {
    "tools": ("name", "inputSchema"),
    "resources": ("uri", "name"),
    "templates": ("uriTemplate", "name"),
    "prompts": ("name",),
}
_TEXTS = ("name", "title", "description", "uri", "uriTemplate", "mimeType")
_SCHEMAS = ("inputSchema", "outputSchema")

# Seconds of checking after which others get a turn.
_TURN = 0.01


class Oddity(NamedTuple):
    """One thing that is wrong: in which entry of which list, in which field, and why."""

    entry: int
    name: str
    field: str
    reason: str


def odd_entries(kind: str, entries: Iterable[Any]) -> list[Oddity]:
    """Return what is wrong with the entries of a list, as far as it shows at a glance.

    ``kind``: ``tools``, ``resources``, ``templates`` or ``prompts``.
    """
    found: list[Oddity] = []
    seen: dict[str, int] = {}
    key = _REQUIRED[kind][0]
    for index, entry in enumerate(entries):
        if not isinstance(entry, Mapping):
            found.append(Oddity(index, "", "", f"is {_kind_of(entry)} and not an object"))
            continue
        name = entry.get(key)
        shown = name if isinstance(name, str) else ""
        found += (Oddity(index, shown, *problem) for problem in _problems(kind, entry))
        if shown and seen.setdefault(shown, index) != index:
            found.append(Oddity(index, shown, key, f"is also that of entry {seen[shown] + 1}"))
    return found


def _problems(kind: str, entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for field in _REQUIRED[kind]:
        if field not in entry:
            yield field, "is missing"
    for field in _TEXTS:
        if field in entry and not isinstance(entry[field], str):
            yield field, f"is {_kind_of(entry[field])} and not a string"
    if entry.get("name") == "":
        yield "name", "is empty"
    for field in (*_SCHEMAS, "annotations", "_meta"):
        if field in entry and not isinstance(entry[field], Mapping):
            yield field, f"is {_kind_of(entry[field])} and not an object"
    schema = entry.get("inputSchema")
    if kind == "tools" and isinstance(schema, Mapping) and schema.get("type") != "object":
        yield "inputSchema", 'has a type other than "object"'
    arguments = entry.get("arguments", [])
    if kind == "prompts" and not (
        isinstance(arguments, list) and all(isinstance(each, Mapping) for each in arguments)
    ):
        yield "arguments", "is not a list of objects"


def _kind_of(value: object) -> str:
    if value is None:
        return "null"
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string"}
    return names.get(type(value), "an array" if isinstance(value, list) else "an object")


async def odd_schemas(tools: Iterable[Any]) -> list[Oddity]:
    """Return the schemas of tools that are not JSON Schema; other tasks get their turns."""
    found: list[Oddity] = []
    clock = asyncio.get_running_loop().time
    began = clock()
    for index, tool in enumerate(tools):
        for field in _SCHEMAS:
            schema = tool.get(field) if isinstance(tool, Mapping) else None
            if isinstance(schema, Mapping):
                try:
                    compile_schema(schema, clock=steady_seconds)
                except (McpError, ValueError) as error:
                    name = tool.get("name")
                    shown = name if isinstance(name, str) else ""
                    found.append(Oddity(index, shown, field, f"is no JSON Schema: {error}"))
        if clock() - began > _TURN:
            await asyncio.sleep(0)
            began = clock()
    return found
