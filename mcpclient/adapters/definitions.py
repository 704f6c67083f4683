"""Definitions of tools by the rules of a model API, and the calls that a model makes by them.

A mistake of the model, such as arguments that are not JSON, is not an exception, and does not
affect other calls: the call gets a ``problem``, which the model receives as its result.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Callable, NamedTuple

from ..framing.invisible import without_invisible
from ..framing.visible_texts import invisible_in
from ..protocol.json_schema import marks_secrets
from ..protocol.types import Tool
from ..suggestions import there_is_no
from .limits import (
    NameRule,
    estimated_tokens,
    fit_names,
    fitting,
    with_strings,
    without_surrogates,
)
from .schemas.reduced import plain_root
from .schemas.rewriting import (
    MAX_INLINED,
    JsonSchema,
    every_part,
    inlined,
    normal_schema,
    with_root_apart,
)
from .schemas.strict import Strict, StrictRules, strict_schema, without_nulls


@dataclass(frozen=True)
class ToolProblem:
    """A part of a tool that was changed or dropped for a model API.

    ``tool``: its name in MCP; empty for a problem of the whole list.
    """

    tool: str
    message: str

    def __str__(self) -> str:
        return f"{self.tool}: {self.message}" if self.tool else self.message


@dataclass(frozen=True)
class Binding:
    """The tool behind a definition, and the conversion of its arguments.

    ``properties``: the server's name of each renamed property. ``schema``: the server's schema; a
    null for an optional property that cannot be null is left out. ``unseen``: the strings of the
    schema that have invisible characters, by their text without these. ``marks_secrets``: whether
    the `repr` of the arguments must not show some of them.
    """

    tool: Tool
    properties: Mapping[str, str] = field(default_factory=dict)
    schema: JsonSchema = field(default_factory=dict)
    unseen: Mapping[str, str] = field(default_factory=dict)
    marks_secrets: bool = False

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments for the server."""
        named = {self.properties.get(name, name): value for name, value in given.items()}
        arguments: dict[str, Any] = without_nulls(named, self.schema, self.schema)
        if not self.unseen:
            return arguments
        restored: dict[str, Any] = with_strings(arguments, lambda text: self.unseen.get(text, text))
        return restored


class ToolDefinitions(list[dict[str, Any]]):
    """The ``tools`` of a request to a model API, as that API wants them.

    ``problems``: the changes of each tool. ``bindings``: the tool behind each name in the
    definitions, for reading calls. ``defined``: the tools by the rules of the API, and ``written``
    in its shape, one by one. ``tokens``: an estimate of their tokens in each request.
    """

    def __init__(
        self,
        definitions: Iterable[dict[str, Any]] = (),
        problems: Iterable[ToolProblem] = (),
        bindings: Mapping[str, Binding] | None = None,
    ) -> None:
        super().__init__(definitions)
        self.problems: list[ToolProblem] = list(problems)
        self.bindings: dict[str, Binding] = dict(bindings or {})
        self.defined: list[Definition] = []
        self.written: list[dict[str, Any]] = []

    @property
    def tokens(self) -> int:
        """An estimate of the definitions' tokens in each request, by their length in JSON."""
        return estimated_tokens(json.dumps(self, ensure_ascii=False))

    def replace(self, other: ToolDefinitions) -> None:
        """Replace the content with another list's, in place."""
        self[:] = other
        self.__dict__.update(other.__dict__)


@dataclass(frozen=True)
class DefinitionRules:
    """The rules of a model API for definitions.

    ``names`` and ``properties``: accepted names of tools, and of their direct properties.
    ``refused``: keywords that the root of a schema must not have. ``follows_references``: whether
    ``$ref`` may stay. ``subset``: leaves a schema only the keywords that the API accepts.
    ``strict``: its strict mode, or None. ``defers``: whether it has its own search for tools.
    ``most``: the maximum number of tools.
    """

    names: NameRule
    properties: NameRule | None = None
    refused: Collection[str] = ()
    follows_references: bool = True
    subset: Callable[[JsonSchema, list[str]], JsonSchema] | None = None
    strict: StrictRules | None = None
    defers: bool = False
    most: int | None = None


@dataclass(frozen=True)
class Definition:
    """A tool by the rules of an API, not yet in its shape.

    ``stricter``: for the strict mode. ``is_inlined``: whether its references were replaced.
    """

    name: str
    description: str
    schema: JsonSchema
    binding: Binding
    notes: list[str]
    stricter: Strict | None = None
    strict: bool = False
    deferred: bool = False
    is_inlined: bool = False


# The most subschemas that take the place of references in one list of tools: about 0.3 s of work,
# and 200,000 tokens.
_MAX_INLINED = 20_000


class Conversions(dict[str, Definition]):
    """Tools by the rules of an API, by their names in MCP.

    ``inlined``: the number of subschemas that took the place of references in all of them.
    """

    inlined: int = 0

    def of(
        self, tool: Tool, rules: DefinitionRules, strict: bool, inline_refs: bool | None
    ) -> Definition:
        """Return the conversion of a tool, a new one only where its definition has changed."""
        known = self.get(tool.name)
        if known is None or known.binding.tool.raw != tool.raw:
            most = min(MAX_INLINED, _MAX_INLINED - self.inlined)
            known = self[tool.name] = _converted(tool, rules, strict, inline_refs, most)
            if known.is_inlined:
                self.inlined += sum(1 for _ in every_part(known.schema))
        return known

    def forget_all_but(self, names: Container[str]) -> None:
        """Forget the conversions of tools that are gone."""
        for name in [name for name in self if name not in names]:
            gone = self.pop(name)
            if gone.is_inlined:
                self.inlined -= sum(1 for _ in every_part(gone.schema))


class KnownTools(list[Tool]):
    """The tools of one conversation for `define`, which converts each of them once.

    ``names``: the lasting name of each tool for the model. ``converted``: the conversion of each
    tool, which holds until the server sends another definition.
    """

    def __init__(
        self, tools: Iterable[Tool], names: dict[str, str], converted: Conversions
    ) -> None:
        super().__init__(tools)
        self.names = names
        self.converted = converted


def is_for_models(tool: Tool) -> bool:
    """Whether a tool may be offered to models: not if ``_meta.ui.visibility`` excludes them.

    Such a tool belongs to the interface of an app (SEP-1865).
    """
    shown = tool.meta.get("ui")
    visibility = shown.get("visibility") if isinstance(shown, dict) else None
    return not isinstance(visibility, list) or "model" in visibility


def define(
    made: ToolDefinitions,
    tools: Iterable[Tool],
    rules: DefinitionRules,
    strict: bool = False,
    inline_refs: bool | None = None,
    defer: Callable[[Tool], bool] | None = None,
) -> Iterator[None]:
    """Add tools by the rules of an API to ``made``, and the problems of the whole list, in steps.

    Of tools with one name, only the first is kept; tools that are not for models are left out.
    ``inline_refs``: replace each ``$ref`` with its target; None: if the API needs that.
    """
    listed = tools if isinstance(tools, KnownTools) else KnownTools(tools, {}, Conversions())
    yield from fitting((tool.name for tool in listed), rules.names, listed.names)
    kept: dict[str, Definition] = {}
    used, most = [0, 0, 0], (rules.strict or StrictRules()).most
    is_deferring = False
    for tool in listed:
        yield
        is_deferring = is_deferring or (defer is not None and defer(tool))
        if not is_for_models(tool):
            made.problems.append(ToolProblem(tool.name, NOT_FOR_MODELS))
            continue
        first = kept.get(tool.name)
        if first is not None:
            note = "a second tool of this name was left out"
            kept[tool.name] = replace(first, notes=[*first.notes, note])
            continue
        converted = listed.converted.of(tool, rules, strict, inline_refs)
        name, stricter = listed.names[tool.name], converted.stricter
        deferred = rules.defers and defer is not None and defer(tool)
        is_known = converted.binding.tool is tool and name == converted.name
        if is_known and stricter is None and not deferred:
            kept[tool.name] = converted  # as most of thousands of tools
            continue
        renamed = [f"the API does not accept its name; it is called {name}"]
        notes = [*(renamed if name != tool.name else []), *converted.notes]
        is_strict = stricter is not None and _takes(most, used, stricter, notes)
        kept[tool.name] = replace(
            converted,
            name=name,
            schema=stricter.schema if is_strict and stricter else converted.schema,
            strict=is_strict,
            deferred=deferred,
            binding=replace(converted.binding, tool=tool),
            notes=notes,
        )
    told = []
    if is_deferring and not rules.defers:
        told.append("defer does nothing: the API has no search for tools; use search=")
    if listed.converted.inlined >= _MAX_INLINED:
        note = f"together they are too large: after {_MAX_INLINED:,} subschemas, references to"
        told.append(f"{note} definitions were cut off; use include=")
    if rules.most is not None and len(kept) > rules.most:
        note = f"the API takes at most {rules.most} tools, and these are {len(kept)}"
        told.append(f"{note}; use include= or search=")
    made.problems += [ToolProblem("", note) for note in told]
    made.defined += kept.values()


_MOST_NOTES = 20  # about the invisible characters of one tool
NOT_FOR_MODELS = "left out: it is not for models"


def _takes(most: Sequence[float], used: list[int], strict: Strict, notes: list[str]) -> bool:
    """Count a tool in ``used``; if it exceeds a limit, add a note and return False."""
    more = [used[0] + 1, used[1] + strict.optional, used[2] + strict.unions]
    for count, limit, kind in zip(more, most, ("tools", "optional properties", "unions")):
        if count > limit:
            notes.append(f"not strict: a request takes at most {limit} {kind} in strict mode")
            return False
    used[:] = more
    return True


def _converted(
    tool: Tool, rules: DefinitionRules, strict: bool, inline_refs: bool | None, most: int
) -> Definition:
    """Return a tool by the rules of an API; ``most``: see `inlined`."""
    seen = with_strings(tool.raw, without_invisible)
    notes = [f"left out of {each}" for each in invisible_in(tool.raw)][:_MOST_NOTES]
    unseen = _unseen(tool.input_schema) if notes else {}
    tool, offered = Tool(seen), tool
    schema, more = normal_schema(tool)
    notes += more
    is_inlined = inline_refs or (inline_refs is None and not rules.follows_references)
    is_inlined = is_inlined and any("$ref" in part for part in every_part(schema))
    if is_inlined:
        schema = inlined(schema, notes, most)
    schema, sentence = plain_root(schema, rules.refused, notes)
    declared = schema
    if rules.subset is not None:
        schema = rules.subset(schema, notes)
    renamed: dict[str, str] = {}
    if rules.properties is not None:
        schema, renamed = _with_properties_renamed(schema, rules.properties, notes)
    stricter = None
    if strict and rules.strict is None:
        notes.append("not strict: the API has no strict mode")
    elif strict and rules.strict is not None:
        found_strict, reasons = strict_schema(schema, rules.strict)
        if reasons:
            notes.append("not strict: " + "; ".join(reasons))
        else:
            stricter = replace(found_strict, schema=without_surrogates(found_strict.schema))
    texts = (tool.description, tool.title, tool.name)
    # Some APIs reject an empty one.
    described = next((text for text in texts if text and text.strip()), "tool")
    description = f"{described}\n\n{sentence}" if sentence else described
    return Definition(
        offered.name,
        without_surrogates(description),
        without_surrogates(schema),
        Binding(offered, renamed, declared, unseen, marks_secrets(offered.input_schema)),
        notes,
        stricter,
        is_inlined=is_inlined,
    )


def _unseen(schema: Any) -> dict[str, str]:
    """Return the strings of a schema with invisible characters, by their text without these."""
    found: dict[str, str] = {}

    def note(text: str) -> str:
        return found.setdefault(without_invisible(text), text)

    with_strings(schema, note)
    return {text: original for text, original in found.items() if text != original}


# Keywords at the root that may refer to properties by the server's names.
_NAMING = frozenset(
    {"dependentRequired", "dependentSchemas", "patternProperties", "propertyNames", "if", "then"}
    | {"else", "not", "allOf", "anyOf", "oneOf", "unevaluatedProperties"}
)


def _with_properties_renamed(
    schema: JsonSchema, rule: NameRule, notes: list[str]
) -> tuple[JsonSchema, dict[str, str]]:
    """Rename root properties that the rule rejects; return the old name of each new one."""
    properties = schema["properties"]
    fitted = fit_names(properties, rule)
    renamed = {new: old for old, new in fitted.items() if new != old}
    if not renamed:
        return schema, {}
    result = dict(with_root_apart(schema, _NAMING, notes))
    result["properties"] = {fitted[name]: value for name, value in result["properties"].items()}
    for keyword in ("required", "propertyOrdering"):
        if keyword in result:
            result[keyword] = [fitted.get(name, name) for name in result[keyword]]
    if "patternProperties" in result:  # deleted below, and excepted by additionalProperties
        result.pop("additionalProperties", None)
    conditions = sorted(_NAMING & result.keys())
    for keyword in conditions:
        del result[keyword]
    if conditions:
        notes.append(f"left out beside new names: {', '.join(conditions)}")
    notes += [f"its property {old!r} is called {new!r}" for new, old in renamed.items()]
    return result, renamed


# Calls


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
    """A call of the model as found, unchecked; ``meta``: what the API wants back with it."""

    id: object
    name: object
    arguments: object
    meta: Mapping[str, Any] = MappingProxyType({})


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
        if binding.marks_secrets:
            from ..recording.secret_arguments import SecretArguments

            arguments = SecretArguments(arguments, binding.tool.input_schema)
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


def first_of(value: object, name: str) -> Any:
    """Return the first item of a list that a mapping has under a name, as plain data, or None."""
    items = first_present(value, name)
    return plain(items[0]) if isinstance(items, list) and items else None
