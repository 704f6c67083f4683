"""The two tools of code mode: one finds functions, the other runs Python that calls them."""

from __future__ import annotations

import hashlib
import sys
import weakref
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Callable

from ..adapters.agent_tools import LocalTool, agent_outcome, new_tool, search_tool, text_result
from ..adapters.definitions import Definition, RawCall
from ..adapters.limits import Limits
from ..adapters.parts import Outcome
from ..client.events.around import refusal
from ..formats.annotations import Annotations, docstring, identifier
from ..net.futures import TaskLocks
from ..protocol.signatures import Signature, tool_signature
from ..protocol.types import CallToolResult, TextContent, Tool
from ..suggestions import there_is_no
from .runs import CodeMode, CodeProcess, require_confinement

# The code gets results whole: only its own output is for the model.
_WHOLE = Limits(max_chars=16 << 20)
# Runs at the same time: a model may ask for a hundred in one response.
_AT_ONCE = 4
# Above this number of paths, those of removed tools are forgotten.
_MAX_PATHS = 20_000

CallTool = Callable[[RawCall, Mapping[str, Any]], Awaitable[Outcome]]
"""Makes a call as if the model had made it, with the options of `call_tool`; never raises."""


class CodeTools:
    """The tools ``search_tools`` and ``run_python``, and the process that is kept, if any.

    ``definitions``: returns the tools that code may call; another list when they change. ``call``:
    makes a call of one of them. Raises `SandboxUnavailable`.
    """

    def __init__(
        self, mode: CodeMode, definitions: Callable[[], Sequence[Definition]], call: CallTool
    ) -> None:
        require_confinement(mode)
        self._mode = mode
        self._definitions = definitions
        self._call = call
        self._turns = TaskLocks()
        self._started = 0
        self._kept: list[CodeProcess] = []
        weakref.finalize(self, _abort, self._kept)
        self._paths: dict[str, str] = {}
        self._names: dict[str, dict[str, str]] = {}
        self._functions: dict[str, Definition] = {}
        self._known: object = None

    def tools(self, servers: Sequence[str]) -> list[LocalTool]:
        """Return the two tools; ``servers``: the names for the description."""
        finding = search_tool(self._definitions, servers, self._signatures)
        kept = " Variables are kept for the next run." if self._mode.keep else ""
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        description = (
            f"Run Python {version} with its standard library, in a sandbox. Tools are functions"
            " there, tools.SERVER.NAME(argument=value), whose signatures search_tools shows. They"
            " return data, and raise ToolError. async_tools has the same as coroutines; await works"
            " at the top level. What is printed, and the value of an expression at the end, comes"
            f" back: print only what you need.{kept} A run may take {self._mode.seconds:g} seconds,"
            " calls not counted."
        )
        code = {"code": {"type": "string", "description": "the source"}}
        running = new_tool("run_python", description, code, read_only=False)
        return [finding, LocalTool(running, self._run)]

    async def close(self) -> None:
        """End the process that is kept, if there is one."""
        while self._kept:
            await self._kept.pop().close()

    async def _run(
        self, arguments: Mapping[str, Any], options: Mapping[str, Any]
    ) -> CallToolResult:
        code = arguments.get("code")
        if not isinstance(code, str):
            return refusal("Give the code, as a string.")
        self._started += 1
        slot = 0 if self._mode.keep else self._started % _AT_ONCE
        async with self._turns.lock(f"run {slot}"):
            if not self._mode.keep:
                return await self._run_in(CodeProcess(self._mode), code, options)
            if not (self._kept and self._kept[0].is_usable and self._kept[0].is_here):
                await self.close()
                self._kept.append(CodeProcess(self._mode))
            return await self._run_in(self._kept[0], code, options)

    async def _run_in(
        self, process: CodeProcess, code: str, options: Mapping[str, Any]
    ) -> CallToolResult:
        try:
            text, failed = await process.run(code, partial(self._answer, options))
        finally:
            if not (self._mode.keep and process.is_usable):
                await process.close()
        if self._mode.keep and not process.is_usable:
            text += "\nThe variables are lost; the next run starts anew."
        return CallToolResult({**text_result(text).raw, "isError": failed})

    async def _answer(
        self, options: Mapping[str, Any], path: str, arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the value of a call, or its error, as `program` wants it."""
        definition = self._by_path().get(path)
        if definition is None:
            return {"error": there_is_no("tool", path, self._functions)}
        signature = self._signature(definition.binding.tool, Annotations(()))
        wire = {each.name: each.wire for each in signature.parameters}
        named = {wire.get(name, name): value for name, value in arguments.items()}
        outcome = await self._call(RawCall("", definition.name, named), options)
        said = agent_outcome(outcome, _WHOLE)
        if said.is_error or not isinstance(outcome, CallToolResult):
            return {"error": said.text}
        is_plain = all(isinstance(block, TextContent) for block in outcome.content)
        is_data = outcome.structured is not None or is_plain
        return {"value": outcome.data if is_data else said.text}

    # Functions

    def _by_path(self) -> dict[str, Definition]:
        """Return the functions by their paths, which a tool keeps."""
        definitions = self._definitions()
        if definitions is not self._known:
            if len(self._paths) > _MAX_PATHS:
                self._paths, self._names = {}, {}
            self._known = definitions
            self._functions = {self._path(each.binding.tool): each for each in definitions}
        return self._functions

    def _path(self, tool: Tool) -> str:
        known = self._paths.get(tool.name)
        if known is None:
            server = getattr(tool, "server", None)
            prefix = "" if server is None else f"{self._free('', server)}."
            known = self._free(prefix, getattr(tool, "raw_name", tool.name))
            known = self._paths[tool.name] = f"{prefix}{known}"
        return known

    def _free(self, prefix: str, text: str) -> str:
        """Return a name that nothing else has; for the same text below ``prefix`` the same."""
        names = self._names.setdefault(prefix, {})
        name = identifier(text, fallback="tool")
        while names.setdefault(name, text) != text:
            # A digest: numbers would be slow for thousands of names that are alike.
            digest = hashlib.sha256(f"{name} {text}".encode("utf-8", "replace")).hexdigest()
            name = f"{identifier(text, fallback='tool')}_{digest[:6]}"
        return name

    def _signature(self, tool: Tool, annotations: Annotations) -> Signature:
        return tool_signature(tool, self._path(tool), annotations, "Any")

    def _signatures(self, matches: Sequence[Definition]) -> list[str]:
        """Return the source of signatures, with the types that they name before them."""
        self._by_path()  # which gives paths in the order of the tools
        annotations = Annotations(())
        lines: list[str] = []
        for match in matches:
            made = self._signature(match.binding.tool, annotations)
            given = ", ".join(
                f"{each.name}: {each.annotation}{'' if each.is_required else ' = ...'}"
                for each in made.parameters
            )
            lines.append(f"tools.{made.name}({given}) -> {made.returns}")
            lines += docstring(made.paragraphs, "    ")
        types = [line for definition in annotations.definitions for line in definition]
        return ["Functions for run_python:", *types, *lines]


def _abort(kept: list[CodeProcess]) -> None:
    for process in kept:
        with suppress(RuntimeError):
            process.transport.abort()
