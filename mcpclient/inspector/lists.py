"""The lists that a server offers, the issues of their entries, and two sessions compared."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from ..client.client import Client
from ..client.connection.connection import all_pages
from ..errors import McpError, ProtocolViolation, safe_str
from ..net.clocks import steady_seconds
from ..protocol.schema_on_demand import compile_schema
from ..recording.conversation import Call, Conversation, Failed, Refused
from .described import described_error

Lists = dict[str, Any]
"""``tools``, ``resources``, ``templates``, ``prompts``: each a list of entries as they came.
``odd``: the issues of entries, by list. ``errors``: the error of a list that failed, by list."""

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
    return with_issues(found, errors)


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


def with_issues(found: Mapping[str, list[Any]], errors: Mapping[str, Any]) -> Lists:
    """Return lists that have been fetched, with the issues of their entries."""
    odd = {name: listing_issues(name, entries) for name, entries in found.items()}
    return {**found, "odd": odd, "errors": dict(errors)}


# The required fields of each list's entries; the first one identifies an entry.
_REQUIRED = {
    "tools": ("name", "inputSchema"),
    "resources": ("uri", "name"),
    "templates": ("uriTemplate", "name"),
    "prompts": ("name",),
}
_STRINGS = ("name", "title", "description", "uri", "uriTemplate", "mimeType")
_SCHEMAS = ("inputSchema", "outputSchema")

# Seconds of checking after which other tasks run.
_TURN = 0.01


class ListingIssue(NamedTuple):
    """A defect of an entry in a list: the entry's index and name, the field, and the reason."""

    entry: int
    name: str
    field: str
    reason: str


def listing_issues(kind: str, entries: Iterable[Any]) -> list[ListingIssue]:
    """Return the issues of a list's entries, except for those of schemas: see `schema_issues`.

    ``kind``: ``tools``, ``resources``, ``templates`` or ``prompts``.
    """
    found: list[ListingIssue] = []
    seen: dict[str, int] = {}
    key = _REQUIRED[kind][0]
    for index, entry in enumerate(entries):
        if not isinstance(entry, Mapping):
            found.append(ListingIssue(index, "", "", f"is {_kind_of(entry)} and not an object"))
            continue
        name = entry.get(key)
        shown = name if isinstance(name, str) else ""
        found += (ListingIssue(index, shown, *problem) for problem in _problems(kind, entry))
        if shown and seen.setdefault(shown, index) != index:
            found.append(
                ListingIssue(index, shown, key, f"is the same as in entry {seen[shown] + 1}")
            )
    return found


def _problems(kind: str, entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for field in _REQUIRED[kind]:
        if field not in entry:
            yield field, "is missing"
    for field in _STRINGS:
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


async def schema_issues(tools: Iterable[Any]) -> list[ListingIssue]:
    """Return the issues of tools whose schemas are not JSON Schema. Other tasks run in between."""
    found: list[ListingIssue] = []
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
                    found.append(
                        ListingIssue(index, shown, field, f"is not a JSON Schema: {error}")
                    )
        if clock() - began > _TURN:
            await asyncio.sleep(0)
            began = clock()
    return found


_MAX_DIFFERENCES = 200

# Aligning takes time proportional to the product of both lengths in the worst case.
_MAX_CALLS = 2_000


def compared_tools(left: Sequence[Any], right: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the tools that differ or that only one side has, sorted by name.

    Each is ``name``, ``change`` (``added``, ``removed`` or ``changed``) and ``differences``.
    """
    before, after = _by_name(left), _by_name(right)
    found: list[dict[str, Any]] = []
    for name in sorted({*before, *after}):
        if name not in before:
            found.append({"name": name, "change": "added", "differences": []})
        elif name not in after:
            found.append({"name": name, "change": "removed", "differences": []})
        elif before[name] != after[name]:
            changes = differences(before[name], after[name])
            found.append({"name": name, "change": "changed", "differences": changes})
    return found


def _by_name(tools: Sequence[Any]) -> dict[str, Any]:
    return {safe_str(tool.get("name")): tool for tool in tools if isinstance(tool, Mapping)}


def compared_calls(left: Sequence[Call], right: Sequence[Call]) -> list[dict[str, Any]]:
    """Return the calls of two sessions in one order, aligned by method and subject.

    Each is ``method``, ``name``, ``left`` and ``right`` (None, or ``seconds`` and ``outcome``),
    ``change`` (``same``, ``added``, ``removed`` or ``changed``) and the ``differences`` of params
    and outcomes.
    """
    left, right = left[:_MAX_CALLS], right[:_MAX_CALLS]
    keys = [[_subject(call) for call in side] for side in (left, right)]
    matcher = SequenceMatcher(None, keys[0], keys[1], autojunk=False)
    found: list[dict[str, Any]] = []
    for tag, begin, end, other_begin, other_end in matcher.get_opcodes():
        if tag == "equal":
            pairs = zip(left[begin:end], right[other_begin:other_end])
            found += (_compared(*pair) for pair in pairs)
        else:
            found += (_compared(call, None) for call in left[begin:end])
            found += (_compared(None, call) for call in right[other_begin:other_end])
    return found


def _subject(call: Call) -> tuple[str, str]:
    params = call.request.get("params")
    names = params if isinstance(params, dict) else {}
    return str(call.request["method"]), str(names.get("name", names.get("uri", "")))


def _compared(left: Call | None, right: Call | None) -> dict[str, Any]:
    call = left or right
    assert call is not None
    method, name = _subject(call)
    compared: dict[str, Any] = {
        "method": method,
        "name": name,
        "left": None if left is None else _described(left),
        "right": None if right is None else _described(right),
        "differences": [],
    }
    if left is None or right is None:
        return {**compared, "change": "added" if left is None else "removed"}
    changes = differences(_params(left), _params(right), "params")
    changes += differences(_outcome(left), _outcome(right), "outcome")
    return {**compared, "change": "changed" if changes else "same", "differences": changes}


def _described(call: Call) -> dict[str, Any]:
    return {"seconds": call.seconds, "outcome": _outcome(call)}


def _params(call: Call) -> Any:
    params = call.request.get("params")
    if not isinstance(params, dict):
        return params
    return {name: value for name, value in params.items() if name != "_meta"}


def _outcome(call: Call) -> Any:
    if call.answer is not None:
        answer = call.answer
        return answer["error"] if "error" in answer else answer.get("result")
    last = call.steps[-1] if call.steps else None
    if isinstance(last, Refused):
        return {"http": last.status}
    return dict(last.error) if isinstance(last, Failed) else None


def differences(left: Any, right: Any, path: str = "") -> list[list[Any]]:
    """Return the differences of two JSON values: path, left value, right value of each.

    A value that one side lacks is None there. At most 200 differences are returned.
    """
    found: list[list[Any]] = []
    for difference in _differences(left, right, path):
        if len(found) == _MAX_DIFFERENCES:
            break
        found.append(difference)
    return found


def _differences(left: Any, right: Any, path: str) -> Iterator[list[Any]]:
    # A stack instead of recursion, because values may be nested deeply.
    waiting = [(path, left, right)]
    while waiting:
        place, before, after = waiting.pop()
        if isinstance(before, dict) and isinstance(after, dict):
            names = sorted({*before, *after}, reverse=True)
            waiting += ((f"{place}/{name}", before.get(name), after.get(name)) for name in names)
        elif isinstance(before, list) and isinstance(after, list):
            indices = range(max(len(before), len(after)) - 1, -1, -1)
            waiting += (
                (f"{place}/{index}", _item(before, index), _item(after, index)) for index in indices
            )
        elif before != after or type(before) is not type(after):
            yield [place, _short(before), _short(after)]


def _item(values: list[Any], index: int) -> Any:
    return values[index] if index < len(values) else None


def _short(value: Any) -> Any:
    if isinstance(value, (dict, list)):
        value = json.dumps(value, ensure_ascii=False)
    return f"{value[:2000]}…" if isinstance(value, str) and len(value) > 2000 else value
