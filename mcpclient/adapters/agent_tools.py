"""A self-contained tool, for programs that call models themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Callable

from ..client.events.around import refusal
from ..errors import McpError, UsageError
from ..protocol.schema import compile_schema
from ..protocol.types import CallToolResult, Tool
from .definitions import Definition, ToolDefinitions
from .limits import Limits, MediaRules
from .parts import ERROR_PREFIX, Outcome, Part, prepared
from .tool_calls import RawCall, ToolCall, read_calls

_ANY_MEDIA = MediaRules(takes_all=True)


@dataclass(frozen=True)
class AgentOutcome:
    """The outcome of a call of an `AgentTool`.

    ``text``: the answer for the model, with a note for images and other media. ``is_error``:
    whether the tool failed or could not be called. ``structured``: the structured content, or None.
    ``parts`` are ``{"type": "text", "text"}``, or ``{"type": "image"|"audio"|"video"|"document",
    "mime_type", "data"}`` with the data in Base64.
    """

    text: str
    is_error: bool
    structured: Any
    parts: list[dict[str, Any]]


def definition_of(tool: Tool, *, closed: bool = False) -> dict[str, Any]:
    """Return ``{"type": "function", "name", "description", "parameters"}`` for a tool.

    The description is the tool's, else its title, else its name. The parameters are its schema as
    sent, with ``type`` and ``properties`` where they are missing; ``closed`` adds
    ``additionalProperties: false``. The tool is not changed.
    """
    schema = tool.input_schema if isinstance(tool.input_schema, dict) else {}
    properties = schema.get("properties")
    parameters = {
        **schema,
        "type": "object",
        "properties": properties if isinstance(properties, dict) else {},
    }
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description or tool.title or tool.name,
        "parameters": {**parameters, "additionalProperties": False} if closed else parameters,
    }


class AgentTool:
    """A tool that describes itself and can be executed.

    ``tool`` is the server's definition. The name and the schema follow the rules of the toolbox's
    model API. Made by `Toolbox.agent_tools`.
    """

    def __init__(
        self,
        defined: Definition,
        call: Callable[[ToolCall, Mapping[str, Any]], Awaitable[Outcome]],
        limits: Limits,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self.tool: Tool = defined.binding.tool
        self._defined = defined
        self._definitions = ToolDefinitions.of((), [defined])
        self._call = call
        self._limits = limits
        self._loop = loop

    @property
    def name(self) -> str:
        """The name of the tool for the model."""
        return self._defined.name

    @property
    def description(self) -> str:
        """The description for the model; never empty."""
        return self._defined.description

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        parameters: dict[str, Any] = self.definition["parameters"]
        return parameters

    @property
    def definition(self) -> dict[str, Any]:
        """The definition, see `definition_of`."""
        name, description = self._defined.name, self._defined.description
        shown = {"name": name, "description": description, "inputSchema": self._defined.schema}
        return definition_of(Tool(shown))

    async def outcome(
        self,
        arguments: Mapping[str, Any] | str | None,
        context: object = None,
        *,
        validate_output: bool = False,
        **call_options: Any,
    ) -> AgentOutcome:
        """Call the tool and return the outcome.

        ``arguments``: a mapping, or JSON as models write it. ``context`` is passed to hooks as
        ``trace``. ``validate_output``: structured content that does not match the output schema is
        an error. ``call_options`` are those of `call_tool`; progress restarts ``timeout``.

        A failure is an outcome with ``is_error``. Raises only `UsageError`, for an unknown option.
        """
        (call,) = read_calls([RawCall("", self.name, arguments)], self._definitions)
        options = call_options if context is None else {"trace": context, **call_options}
        outcome = await self._call(call, options)
        if validate_output and isinstance(outcome, CallToolResult) and not outcome.is_error:
            problem = _mismatch(self.tool, outcome)
            if problem:
                outcome = refusal(f"the result does not fit its schema: {problem}")
        return agent_outcome(outcome, self._limits)

    async def execute(
        self,
        arguments: Mapping[str, Any] | str | None,
        context: object = None,
        *,
        media: bool = False,
        validate_output: bool = False,
        **call_options: Any,
    ) -> str | list[dict[str, Any]]:
        """Call the tool and return the answer for the model as a string.

        The arguments are those of `outcome`. After a failure the string begins with ``Tool
        error:``. A note replaces images and other media; with ``media``, a result that has any is
        returned as the list `AgentOutcome.parts`.
        """
        options = {"validate_output": validate_output, **call_options}
        outcome = await self.outcome(arguments, context, **options)
        prefix = ERROR_PREFIX if outcome.is_error else ""
        if media and any(part["type"] != "text" for part in outcome.parts):
            return [*([_part(prefix.strip())] if prefix else []), *outcome.parts]
        return prefix + outcome.text

    async def call(self, /, **arguments: Any) -> str:
        """Run `execute`, for frameworks that pass keyword arguments."""
        return str(await self.execute(arguments))

    def execute_sync(
        self, arguments: Mapping[str, Any] | str | None, context: object = None, **options: Any
    ) -> str | list[dict[str, Any]]:
        """Run `execute` from a thread other than the event loop's, and block.

        Raises `UsageError` in the event loop's thread, and after the loop has stopped.
        """
        loop, running = self._loop, None
        with suppress(RuntimeError):
            running = asyncio.get_running_loop()
        if loop is None or not loop.is_running() or running is loop:
            raise UsageError(
                "execute_sync blocks, so it needs a running event loop in another thread: await "
                "execute instead, or use mcpclient.sync"
            )
        made = self.execute(arguments, context, **options)
        return asyncio.run_coroutine_threadsafe(made, loop).result()


def agent_outcome(outcome: Outcome, limits: Limits) -> AgentOutcome:
    """Return the outcome of a call as text and parts."""
    made = prepared(outcome, limits, _ANY_MEDIA)
    structured = outcome.structured if isinstance(outcome, CallToolResult) else None
    texts = [part if isinstance(part, str) else f"[{part.description}]" for part in made.parts]
    parts = [_part(part) for part in made.parts]
    return AgentOutcome("\n".join(texts), made.is_error, structured, parts)


def _mismatch(tool: Tool, result: CallToolResult) -> str:
    try:
        schema = compile_schema({} if tool.output_schema is None else tool.output_schema)
        return "; ".join(map(str, schema.validate(result.structured)))
    except McpError as error:
        return str(error)


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": part.kind, "mime_type": part.media_type, "data": part.base64}
