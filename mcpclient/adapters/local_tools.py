"""Tools that this library itself offers to a model, beside those of servers."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Callable, Protocol

from ..client.events.around import Around
from ..protocol.tool_search import search_tools
from ..protocol.types import CallToolResult, ReadResourceResult, Resource, Tool

__all__ = ["LocalTool", "ResourceSource", "resource_tools", "search_tool"]

# How many resources one answer lists, and how many tools one search finds.
_LISTED = 200
_FOUND = 5
_SHOWN_DESCRIPTION = 200
_READ_ONLY = {"readOnlyHint": True}


@dataclass(frozen=True)
class LocalTool:
    """A tool and the function that answers its calls.

    ``run`` takes the arguments, and functions to put around a request that it makes of a server.
    ``needs_approval``: whether a user is asked before a call.
    """

    tool: Tool
    run: Callable[..., Awaitable[CallToolResult]]
    needs_approval: bool = True

    def called(self, name: str) -> LocalTool:
        """Return the same under another name."""
        return replace(self, tool=Tool({**self.tool.raw, "name": name}))


class ResourceSource(Protocol):
    """What has resources: a client or a manager."""

    async def list_resources(self) -> Sequence[Resource]:
        """Return all resources."""
        ...

    async def read_resource(self, uri: str, /, **options: Any) -> ReadResourceResult:
        """Return what a resource holds."""
        ...


def resource_tools(source: ResourceSource) -> list[LocalTool]:
    """Return the tools ``list_resources`` and ``read_resource``."""

    async def list_resources(
        arguments: Mapping[str, Any], around: Sequence[Around] = ()
    ) -> CallToolResult:
        resources = await source.list_resources()
        lines = [_resource_line(resource) for resource in resources[:_LISTED]]
        if len(resources) > _LISTED:
            lines.append(f"… and {len(resources) - _LISTED} more")
        return _text("\n".join(lines) or "There are no resources.")

    async def read_resource(
        arguments: Mapping[str, Any], around: Sequence[Around] = ()
    ) -> CallToolResult:
        uri = arguments.get("uri")
        if not isinstance(uri, str):
            return _text("Give the uri of a resource; list_resources lists them.", is_error=True)
        read = await source.read_resource(uri, around=around)
        blocks = [{"type": "resource", "resource": part.raw} for part in read.contents]
        return CallToolResult({"content": blocks})

    listing = _tool("list_resources", "List the resources that can be read.", {})
    uri = {"uri": {"type": "string", "description": "as list_resources gives it"}}
    reading = _tool("read_resource", "Read a resource by its URI.", uri)
    return [LocalTool(listing, list_resources), LocalTool(reading, read_resource)]


def search_tool(
    tools: Callable[[], Iterable[Tool]], found: Callable[[list[Tool]], None]
) -> LocalTool:
    """Return the tool ``search_tools``.

    ``tools`` gives those to search in; ``found`` is told what a search has found.
    """

    async def search(arguments: Mapping[str, Any], around: Sequence[Around] = ()) -> CallToolResult:
        query = arguments.get("query")
        if not isinstance(query, str):
            return _text("Give a query: some words of what the tool should do.", is_error=True)
        matches = search_tools(query, tools(), limit=_FOUND)
        found(matches)
        if not matches:
            return _text("No tool fits. Try other words.")
        lines = [f"- {tool.name}: {_short(tool.description or '')}" for tool in matches]
        return _text("These tools can be called from now on:\n" + "\n".join(lines))

    query = {"query": {"type": "string", "description": "words of what the tool should do"}}
    description = (
        "Find tools. Most tools are not listed here: search for one by words before you decide "
        "that there is none."
    )
    return LocalTool(_tool("search_tools", description, query), search, needs_approval=False)


def _tool(name: str, description: str, properties: dict[str, Any]) -> Tool:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    raw = {"name": name, "description": description, "inputSchema": schema}
    return Tool({**raw, "annotations": _READ_ONLY})


def _text(text: str, is_error: bool = False) -> CallToolResult:
    return CallToolResult({"content": [{"type": "text", "text": text}], "isError": is_error})


def _resource_line(resource: Resource) -> str:
    known = {"name": resource.name, "type": resource.mime_type}
    described = json.dumps({key: value for key, value in known.items() if value})
    description = _short(resource.description or resource.title or "")
    return f"- {resource.uri} {described} {description}".rstrip()


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_DESCRIPTION else f"{line[:_SHOWN_DESCRIPTION]}…"
