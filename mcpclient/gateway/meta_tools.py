"""The tools that a gateway offers in place of hundreds: find, describe, call, and run_python.

Their definitions are the same for the whole session, so that a cache of the conversation stays
valid. A host that always allows one of them allows all that it reaches, and so the annotations of
``call`` and ``run_python`` describe the worst tool that there may be.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..adapters.agent_tools import new_tool, text_result
from ..adapters.toolbox import Toolbox
from ..client.answers.peer import Params
from ..client.events.around import refusal
from ..code.toolset import CodeMode
from ..framing.invisible import without_invisible
from ..framing.visible_texts import with_visible_texts
from ..manager.tools import ManagedTool, ToolList
from ..net.clocks import steady_seconds
from ..net.futures import in_slices
from ..protocol.schema import violations_of
from ..protocol.schema_properties import without_defaulted
from ..protocol.tool_search import ToolIndex
from ..suggestions import there_is_no
from .changes import SERVERS

if TYPE_CHECKING:
    from .gateway import Gateway

_FOUND = 8
_MAX_FOUND = 50
_SHOWN = 200  # characters of a description

_STRING = {"type": "string"}


def shown_tool(tool: ManagedTool) -> Params:
    """Return the definition of a tool as the host gets it."""
    return {**with_visible_texts(tool.raw), "name": tool.name}


class _Offered:
    """The servers of a gateway as the code of a model sees them: what it may call."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._tools = ToolList()
        self.call_tool = gateway.manager.call_tool

    @property
    def tools(self) -> ToolList:
        """The tools that the host may call, as `Manager.tools`."""
        offered = self._gateway.offered()
        if offered != self._tools:
            self._tools.replace(offered)
        return self._tools


class MetaTools:
    """The tools of one gateway. ``with_code``: also ``run_python``.

    Raises `SandboxUnavailable` where code cannot be confined.
    """

    def __init__(self, gateway: Gateway, *, with_code: bool) -> None:
        self._gateway = gateway
        self._box: Toolbox | None = None
        if with_code:
            source: Any = _Offered(gateway)
            self._box = Toolbox(source, "anthropic", code=CodeMode(), approve=self._allow)
        self._definitions: list[dict[str, Any]] = []

    def definitions(self) -> Sequence[Params]:
        """Return the definitions, which never change."""
        if not self._definitions:
            servers = ", ".join(self._gateway.manager._fleet.configs)
            reading = {"readOnlyHint": True, "openWorldHint": False}
            is_harmless = self._gateway.is_read_only
            reaching = {
                "readOnlyHint": is_harmless,
                "destructiveHint": not is_harmless,
                "idempotentHint": False,
                "openWorldHint": True,
            }
            tools = [
                new_tool(
                    "find",
                    f"Find tools by words about the task. There are tools of: {servers}.",
                    {"query": _STRING, "limit": {"type": "integer", "minimum": 1}},
                    ["query"],
                    annotations=reading,
                ),
                new_tool(
                    "describe",
                    "Show what tools do and take, by the names that find gives.",
                    {"names": {"type": "array", "items": _STRING}},
                    annotations=reading,
                ),
                new_tool(
                    "call",
                    "Call a tool. Its arguments must fit the schema that describe shows.",
                    {"server": _STRING, "tool": _STRING, "arguments": {"type": "object"}},
                    ["tool"],
                    annotations=reaching,
                ),
            ]
            if self._box is not None:
                (code,) = (tool for tool in self._box.tools if tool["name"] == "run_python")
                about = code["description"].replace("search_tools", "find")
                source = {"code": {"type": "string", "description": "the source"}}
                tools.append(new_tool("run_python", about, source, annotations=reaching))
            self._definitions += [each.raw for each in tools]
        return self._definitions

    async def call(self, params: Params, meta: Params | None) -> Params:
        """Return the result of one of these tools."""
        name, given = params.get("name"), params.get("arguments")
        arguments = given if isinstance(given, dict) else {}
        await self._gateway.settle()  # a model may search before the servers have started
        if name == "call":
            return await self._call(params, arguments, meta)
        if name == "run_python" and self._box is not None:
            return await self._run("run_python", arguments)
        if name == "describe":
            return self._describe(arguments.get("names"))
        if name == "find" and self._box is not None:
            return await self._run("search_tools", arguments)
        if name == "find":
            return await self._find(arguments)
        known = [each["name"] for each in self.definitions()]
        return refusal(there_is_no("tool", str(name), known)).raw

    async def close(self) -> None:
        """End what code has left running."""
        if self._box is not None:
            await self._box.close()

    async def _run(self, name: str, arguments: Params) -> Params:
        assert self._box is not None, "there is one with code"
        await self._box.refresh()
        (tool,) = (each for each in self._box.agent_tools if each.name == name)
        outcome = await tool.outcome(arguments)
        return {**text_result(outcome.text).raw, "isError": outcome.is_error}

    def _allow(self, call: object, tool: object) -> bool | str:
        """Allow the calls of code to the tools that are offered."""
        if not isinstance(tool, ManagedTool) or tool in self._gateway.offered():
            return True
        return "the gateway does not offer it"

    async def _find(self, arguments: Params) -> Params:
        query, limit = arguments.get("query"), arguments.get("limit")
        if not isinstance(query, str):
            return refusal("Give a query: some words about the task of the tool.").raw
        most = min(limit, _MAX_FOUND) if isinstance(limit, int) and limit > 0 else _FOUND
        offered, index = self._gateway.offered(), ToolIndex()
        await in_slices(map(index.add, offered))
        found = [offered[place] for place in index.search(query, most)]
        lines = [
            json.dumps(
                {
                    "name": tool.name,
                    "server": tool.server,
                    "tool": tool.raw_name,
                    "description": without_invisible(tool.description or tool.title or "")[:_SHOWN],
                },
                ensure_ascii=False,
            )
            for tool in found
        ]
        if not lines:
            lines = ["No tool fits. Try other words.", *self._missing()]
        return text_result("\n".join(lines)).raw

    def _missing(self) -> list[str]:
        """Return a line that names the servers whose tools cannot be found."""
        servers = self._gateway.manager.servers.values()
        names = [each.name for each in servers if each.error is not None]
        return [f"Not connected: {', '.join(names)}; {SERVERS} says why."] if names else []

    def _describe(self, names: object) -> Params:
        found = []
        for name in names if isinstance(names, list) else [names]:
            tool = self._named("", str(name))
            if isinstance(tool, str):
                return refusal(tool).raw
            found.append(json.dumps(shown_tool(tool), ensure_ascii=False))
        return text_result("\n".join(found)).raw

    def _named(self, server: str, name: str) -> ManagedTool | str:
        """Return a tool by its full name, or by its server's and its own; else an explanation."""
        offered = self._gateway.offered()
        for tool in offered:
            if server in ("", tool.server) and tool.name == name:
                return tool
        own = [each for each in offered if server in ("", each.server) and each.raw_name == name]
        if len(own) == 1:
            return own[0]
        if own:
            return f"{name!r} may be of {', '.join(each.server for each in own)}: say which server"
        servers = self._gateway.manager.servers
        if server and server not in servers:
            return there_is_no("server", server, servers)
        for each in servers.values():
            if each.error is not None and (
                each.name == server or name.startswith(f"{each.name}__")
            ):
                return f"{each.name}: {self._gateway.explain_for(each.name, each.error)}"
        known = [tool.name for tool in offered]
        return there_is_no("tool", name, known, otherwise="find shows the tools")

    async def _call(self, params: Params, given: Params, meta: Params | None) -> Params:
        tool = self._named(str(given.get("server") or ""), str(given.get("tool")))
        if isinstance(tool, str):
            return refusal(tool).raw
        arguments = given.get("arguments") or {}
        # A required property with a default is left to the server.
        wanted = without_defaulted(tool.input_schema)
        problems = violations_of(arguments, wanted, clock=steady_seconds)
        if problems:
            text = "; ".join(map(str, problems))
            return refusal(f"{tool.name} was not called: its arguments do not fit: {text}").raw
        inner = {**params, "name": tool.name, "arguments": arguments}
        return await self._gateway.call(inner, meta)
