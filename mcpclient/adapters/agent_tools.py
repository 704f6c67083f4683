"""A tool on its own, for programs that have their own way of calling models."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any, Callable

from ..errors import McpError
from ..protocol.schema import compile_schema
from ..protocol.types import CallToolResult, Tool
from .definitions import Definition, ToolDefinitions
from .limits import Limits
from .media import MediaRules
from .parts import ERROR_PREFIX, Outcome, Part, prepared
from .tool_calls import RawCall, ToolCall, read_calls

__all__ = ["AgentTool", "definition_of"]


class _AnyMedia(MediaRules):
    def takes(self, media_type: str) -> bool:
        return True


def definition_of(tool: Tool, *, closed: bool = False) -> dict[str, Any]:
    """Return ``{"type": "function", "name", "description", "parameters"}`` for a tool.

    The description is the tool's, else its title, else its name. The parameters are its schema as
    sent, with ``type`` and ``properties`` where they are missing; ``closed`` adds
    ``additionalProperties: false``. The tool is not touched.
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

    ``tool`` is the definition of the server. Its name and schema are those that the model API of
    the toolbox takes. `Toolbox.agent_tools` makes these.
    """

    def __init__(
        self,
        defined: Definition,
        call: Callable[[ToolCall, Mapping[str, Any]], Awaitable[Outcome]],
        limits: Limits,
    ) -> None:
        self.tool: Tool = defined.binding.tool
        self._defined = defined
        self._call = call
        self._limits = limits

    @property
    def name(self) -> str:
        """The name by which the model knows it."""
        return self._defined.name

    @property
    def definition(self) -> dict[str, Any]:
        """The definition, see `definition_of`."""
        name, description = self._defined.name, self._defined.description
        shown = {"name": name, "description": description, "inputSchema": self._defined.schema}
        return definition_of(Tool(shown))

    async def execute(
        self,
        arguments: Mapping[str, Any] | str | None,
        context: object = None,
        *,
        validate_output: bool = False,
        **call_options: Any,
    ) -> str | list[dict[str, Any]]:
        """Call the tool and return what a model is to read: text, or parts where there are media.

        ``arguments``: a mapping, or JSON text as models give it. ``context`` is passed to hooks as
        ``trace``. ``validate_output``: structured content that does not fit the output schema is an
        error. ``call_options`` are those of `call_tool`; progress starts ``timeout`` anew.

        It raises nothing of what goes wrong: that is a text which begins with ``Tool error:``. A
        part is ``{"type": "text", "text"}``, or ``{"type": "image"|"audio"|"video"|"document",
        "mime_type", "data"}`` with the data in Base64.
        """
        definitions = ToolDefinitions.of((), [self._defined])
        (call,) = read_calls([RawCall("", self.name, arguments)], definitions)
        options = call_options if context is None else {"trace": context, **call_options}
        outcome = await self._call(call, options)
        if validate_output and isinstance(outcome, CallToolResult) and not outcome.is_error:
            problem = _mismatch(self.tool, outcome)
            if problem is not None:
                return f"{ERROR_PREFIX}the result does not fit its schema: {problem}"
        return prepared(outcome, self._limits, _AnyMedia()).written(_part)


def _mismatch(tool: Tool, result: CallToolResult) -> str | None:
    if tool.output_schema is None:
        return None
    try:
        violations = compile_schema(tool.output_schema).validate(result.structured)
    except McpError as error:
        return str(error)
    return "; ".join(map(str, violations)) or None


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": part.kind, "mime_type": part.media_type, "data": part.base64}
