"""Arguments against the schema of their tool, before anything is sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import McpError, UsageError
from ..lazy import OnDemand
from ..net.clocks import steady_seconds
from ..protocol.schema_on_demand import compile_schema
from ..protocol.types import Tool
from .arguments import Typed, typed_value
from .signature import properties_of, required_of, signature

if TYPE_CHECKING:
    from .. import suggestions
else:
    suggestions = OnDemand("..suggestions", __name__)

_NAMED = 3


def tool_named(name: str, tools: Sequence[Tool]) -> Tool:
    """Return the tool of this name. Raises `UsageError`, with what was meant."""
    for tool in tools:
        if tool.name == name:
            return tool
    names = [tool.name for tool in tools]
    message = suggestions.there_is_no("tool", name, names, otherwise=suggestions.there_are(names))
    raise UsageError(message).advise("List them with: mcpclient tools")


def unchecked_arguments(given: Mapping[str, Any | Typed]) -> dict[str, Any]:
    """Return the arguments as they look, without any schema."""
    return {name: _value(name, value, None, None) for name, value in given.items()}


def checked_arguments(tool: Tool, given: Mapping[str, Any | Typed]) -> dict[str, Any]:
    """Return the arguments with their types.

    Raises `UsageError`, with the signature of the tool, when one is missing, is not there, or does
    not fit. A schema that cannot be used checks nothing.
    """
    schema = tool.input_schema
    properties = properties_of(schema)
    try:
        _check_names(given, properties, schema)
        arguments = {
            name: _value(name, value, properties.get(name), schema) for name, value in given.items()
        }
        _check_values(arguments, schema)
    except UsageError as error:
        raise UsageError(f"{error}\nusage: {signature(tool)}").advise(
            "Change the arguments, or send them as they are with --unchecked"
        ) from None
    return arguments


def _value(name: str, value: Any | Typed, schema: Any, root: Any) -> Any:
    return typed_value(name, value.text, schema, root) if isinstance(value, Typed) else value


def _check_names(given: Iterable[str], properties: Mapping[str, Any], schema: Any) -> None:
    for name in given:
        if name in properties or not isinstance(schema, Mapping):
            continue
        hint = suggestions.did_you_mean(name, properties)
        if hint or schema.get("additionalProperties") is False:
            raise UsageError(
                f"there is no argument {name!r}; {hint or suggestions.there_are(properties)}"
            )
    missing = [name for name in required_of(schema) if name not in given]
    if missing:
        raise UsageError(f"missing: {', '.join(missing)}")


def _check_values(arguments: Mapping[str, Any], schema: Any) -> None:
    try:
        violations = compile_schema(schema, clock=steady_seconds).validate(arguments)
    except McpError:  # a schema that is wrong, or too much to check: the server will have to
        return
    if violations:
        raise UsageError("; ".join(str(violation) for violation in violations[:_NAMED]))
