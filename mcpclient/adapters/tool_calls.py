"""The calls in a model's response; an invalid one does not affect the others.

A model's mistake, such as arguments that are not JSON, is not an exception: the call gets a
``problem``, which the model receives as its result.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ..protocol.types import Tool
from ..suggestions import there_is_no
from .definitions import Binding, ToolDefinitions


@dataclass(frozen=True)
class ToolCall:
    """A call that a model asks for.

    ``id``: the provider's id, empty if it gave none. ``name`` and ``arguments``: for `call_tool`.
    ``problem``: the reason, for the model, why the call cannot be made; None if it can.
    ``called_as``: the model's name of the tool. ``tool``: None if the tools were not passed or do
    not have this name.
    """

    id: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    problem: str | None = None
    called_as: str = ""
    tool: Tool | None = None

    def as_tool_use(self) -> dict[str, Any]:
        """Return the call as content of a sampling result. Raises `ValueError` for a problem."""
        if self.problem is not None:
            raise ValueError(self.problem)
        return {"type": "tool_use", "id": self.id, "name": self.name, "input": self.arguments}


class RawCall(NamedTuple):
    """A call as found in the response, unchecked."""

    id: object
    name: object
    arguments: object


def read_calls(found: Iterable[RawCall], tools: Sequence[Mapping[str, Any]]) -> list[ToolCall]:
    """Return the calls, in order. ``tools``: the result of the provider's ``tools``.

    With a plain list, names and arguments are kept as the model wrote them.
    """
    bindings = tools.bindings if isinstance(tools, ToolDefinitions) else None
    calls: list[ToolCall] = []
    for raw in found:
        call = _read(raw, bindings)
        if call.id and any(call.id == other.id for other in calls):
            problem = f"Two calls have the id {call.id}; only the first was made. Call again."
            call = replace(call, problem=problem)
        calls.append(call)
    return calls


def _read(raw: RawCall, bindings: Mapping[str, Binding] | None) -> ToolCall:
    identity = raw.id if isinstance(raw.id, str) else ""
    if not isinstance(raw.name, str) or not raw.name:
        return ToolCall(identity, "", problem="The call names no tool. Call again with a name.")
    binding = Binding(Tool({})) if bindings is None else bindings.get(raw.name)
    if binding is None:
        missing = there_is_no("tool", raw.name, bindings or {})
        return ToolCall(identity, raw.name, {}, missing, raw.name)
    tool = None if bindings is None else binding.tool
    name = raw.name if tool is None else tool.name
    arguments: dict[str, Any] = {}
    problem = None
    try:
        arguments = binding.arguments(_arguments(raw.arguments))
    except ValueError as error:
        problem = str(error)
    except RecursionError:
        problem = "The arguments are nested too deeply."
    return ToolCall(identity, name, arguments, problem, raw.name, tool)


def _arguments(given: object) -> Mapping[str, Any]:
    """Return the arguments. Raises `ValueError` with a message for the model."""
    value = given
    if isinstance(given, str):
        try:
            value = json.loads(given, parse_constant=_refuse) if given.strip() else {}
        except ValueError as error:
            text = f"The arguments are not valid JSON: {error}. Call again with a JSON object."
            raise ValueError(text) from None
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ValueError("The arguments are not a JSON object. Call again with one.")
    return value


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def plain(value: object) -> Any:
    """Return an object of a provider's SDK as plain data, through its own methods.

    Items of lists are converted as well. Any other object without such a method is returned as is.
    """
    if isinstance(value, Mapping):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(by_alias=True, warnings=False)
    to_dict = getattr(value, "to_dict", None)
    return to_dict() if callable(to_dict) else value


def first_present(value: object, *names: str) -> Any:
    """Return the first of these members that a mapping has and that is not None."""
    if isinstance(value, Mapping):
        for name in names:
            if value.get(name) is not None:
                return value[name]
    return None
