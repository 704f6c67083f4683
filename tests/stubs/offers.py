"""Offers of servers: recorded ones, and one that is made to break a generator."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcpclient.protocol.types import Prompt, ResourceTemplate, Tool
from mcpclient.stubs import Offer

TRANSCRIPTS = Path(__file__).parents[2] / "conformance" / "transcripts"


def offer(*tools: dict[str, Any], **more: Any) -> Offer:
    """Return the offer of a server with these tools, given as on the wire."""
    made = [Tool({"inputSchema": {"type": "object"}, **tool}) for tool in tools]
    return Offer("test server", made, target=["python3", "server.py"], **more)


def recorded_offers() -> dict[str, Offer]:
    """Return the offers of the servers of all transcripts, by the names of the files."""
    found: dict[str, Offer] = {}
    seen: set[str] = set()
    for path in sorted(TRANSCRIPTS.rglob("*.jsonl")):
        lists = _lists_in(path)
        digest = json.dumps(lists, sort_keys=True)
        if lists["tools"] and digest not in seen:
            seen.add(digest)
            tools, prompts, templates = (list(each.values()) for each in lists.values())
            found[f"{path.parent.name}-{path.stem}"] = Offer(
                path.stem,
                [Tool(each) for each in tools],
                [Prompt(each) for each in prompts],
                [ResourceTemplate(each) for each in templates if "uriTemplate" in each],
                "https://example.com/mcp",
            )
    return found


def _lists_in(path: Path) -> dict[str, dict[str, Any]]:
    lists: dict[str, dict[str, Any]] = {"tools": {}, "prompts": {}, "resourceTemplates": {}}
    for line in path.read_text("utf-8", "replace").splitlines():
        if any(f'"{key}' in line for key in lists):
            for value in _values(line):
                for key, found in lists.items():
                    items = value.get(key)
                    for each in items if isinstance(items, list) else ():
                        if isinstance(each, dict) and isinstance(each.get("name"), str):
                            found[each["name"]] = each
    return lists


def _values(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects in JSON, also those inside its strings."""
    try:
        queue: list[Any] = [json.loads(text)]
    except ValueError:
        return
    while queue:
        value = queue.pop()
        if isinstance(value, dict):
            yield value
            queue.extend(value.values())
        elif isinstance(value, list):
            queue.extend(value)
        elif isinstance(value, str) and '{"' in value:
            for line in (value, *value.splitlines()):
                yield from _values(line.partition("data: ")[2] or line) if line != text else ()
