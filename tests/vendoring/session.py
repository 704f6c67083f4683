"""An ordinary session with each server that is named, through the copy whose folder is first named.

``session.py FOLDER NAME PARTS [SERVER ...]``: the copy ``NAME`` in ``FOLDER``, made of ``PARTS``.
Each server is a list of words, or a URL, as JSON. Prints the names of the tools that were called.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import sys
from typing import Any

folder, name, parts, *servers = sys.argv[1:]
sys.path.insert(0, folder)
mcpclient: Any = importlib.import_module(name)
assert "mcpclient" not in sys.modules

# What a tool of any server is called with.
ARGUMENTS = {
    "echo": {"message": "hi", "text": "hi"},
    "add": {"a": 1, "b": 2},
    "get-sum": {"a": 1, "b": 2},
    "get-structured-content": {"location": "New York"},
    "secret": {"password": "a secret"},
    "named": {"a": "x"},
    "list_allowed_directories": {},
    "get_current_time": {"timezone": "UTC"},
    **{each: {} for each in ("fits", "broken", "asks", "changes")},
}


async def session(client: Any) -> list[str]:
    """Use the server's whole offer; return the names of the tools that were called."""
    called, unchecked = [], []
    for tool in await client.list_tools():
        assert tool.input_schema
        if tool.name in ARGUMENTS:
            result = await client.call_tool(tool.name, ARGUMENTS[tool.name], timeout=60)
            assert not result.is_error, result
            called.append(tool.name)
            unchecked += [each for each in result.warnings if "without schema" in each]
            if tool.name == "broken" and "schema" in parts.split(","):
                assert "broke its output schema" in result.warnings[0], result.warnings
            if tool.name == "fits":
                assert result.data == {"sum": 42}
            if tool.name == "asks":
                assert result.text.count("-32601") == 3, result
        elif tool.name == "later":  # a server that makes no tasks is called as usual
            assert (await client.call_tool("later")).text == "later"
    assert len(unchecked) <= ("schema" not in parts.split(",")), unchecked
    capabilities = client.capabilities
    if "resources" in capabilities:
        listed = await client.list_resources()
        await client.list_resource_templates()
        if listed:
            await client.read_resource(listed[0].uri)
    for prompt in (await client.list_prompts())[:1] if "prompts" in capabilities else ():
        with contextlib.suppress(mcpclient.PeerError):  # one that needs arguments
            await client.get_prompt(prompt.name)
    if "completions" in capabilities:
        with contextlib.suppress(mcpclient.PeerError):
            await client.complete({"type": "ref/prompt", "name": "p"}, "x", "")
    await client.notify("notifications/roots/list_changed")
    return called


async def main() -> None:
    for target in map(json.loads, servers):
        async with mcpclient.connect(target, timeout=60) as client:
            found = await session(client)
            print(",".join(found), client.protocol_version)
        try:
            mcpclient.connect(target, validate="strict")
            assert "schema" in parts.split(","), "strict, though nothing can be checked"
        except mcpclient.UsageError as error:
            assert "schema" not in parts.split(","), error
        if "manager" in parts.split(","):
            async with mcpclient.connect_all({"a": target}, required=True) as manager:
                assert await session(manager["a"]) == found
                tool = f"a__{found[0]}"
                assert not (await manager.call_tool(tool, ARGUMENTS[found[0]])).is_error
        if "sync" in parts.split(","):
            await asyncio.to_thread(blocking, target)


def blocking(target: Any) -> None:
    with mcpclient.sync.connect(target) as client:
        assert client.list_tools()


if __name__ == "__main__":
    asyncio.run(main())
