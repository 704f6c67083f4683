"""The tools of MCP servers within the rules of a model API, and what their definitions mean.

Every provider's ``tools`` function goes through here; it only writes the result in its own shape.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Callable

from ..protocol.types import Tool
from .clean_text import without_surrogates
from .names import NameRule, fit_names
from .schemas.inlining import inlined
from .schemas.normal import normal_schema
from .schemas.plain_root import plain_root
from .schemas.pointers import with_root_kept_apart
from .schemas.strict import strict_schema, without_nulls
from .schemas.widening import JsonSchema, Rewritten, rewritten

__all__ = ["Binding", "Definition", "DefinitionRules", "ToolDefinitions", "ToolProblem", "define"]


@dataclass(frozen=True)
class ToolProblem:
    """What of a tool was changed or dropped for a model API. ``tool`` is its name in MCP."""

    tool: str
    message: str

    def __str__(self) -> str:
        return f"{self.tool}: {self.message}"


@dataclass(frozen=True)
class Binding:
    """What a definition means: the tool it stands for, and how its arguments are read.

    ``properties``: the server's name of each property that was renamed. ``optional``: the schema
    whose optional properties come as null, where strict mode made them required.
    """

    tool: Tool
    properties: Mapping[str, str] = field(default_factory=dict)
    optional: JsonSchema | None = None

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments for the server."""
        if self.optional is not None:
            given = without_nulls(dict(given), self.optional, self.optional)
        return {self.properties.get(name, name): value for name, value in given.items()}


class ToolDefinitions(list[dict[str, Any]]):
    """The ``tools`` of a request to a model API, as that API wants them.

    ``problems``: what was changed or dropped, for each tool. ``bindings``: what each name in the
    definitions means; reading calls takes it. ``defined``: the tools within the rules of the API,
    not in its shape.
    """

    def __init__(
        self,
        definitions: Iterable[dict[str, Any]] = (),
        problems: Iterable[ToolProblem] = (),
        bindings: Mapping[str, Binding] | None = None,
        defined: Iterable[Definition] = (),
    ) -> None:
        super().__init__(definitions)
        self.problems: list[ToolProblem] = list(problems)
        self.bindings: dict[str, Binding] = dict(bindings or {})
        self.defined: list[Definition] = list(defined)

    @classmethod
    def of(
        cls, shaped: Iterable[dict[str, Any]], definitions: Iterable[Definition]
    ) -> ToolDefinitions:
        """Put together what a provider made of definitions, and what they mean."""
        known = list(definitions)
        problems = [problem for definition in known for problem in definition.problems]
        return cls(shaped, problems, {one.name: one.binding for one in known}, known)

    def replace(self, other: ToolDefinitions) -> None:
        """Become like another list, in place."""
        self[:] = other
        self.problems = other.problems
        self.bindings = other.bindings
        self.defined = other.defined


@dataclass(frozen=True)
class DefinitionRules:
    """What a model API asks of definitions.

    ``names`` and ``properties``: what tools, and their direct properties, may be called.
    ``refused``: keywords that the root of a schema must not have. ``follows_references``: whether
    ``$ref`` may stay. ``needs_items``: whether every array must say what is in it. ``subset``
    leaves only what the API takes. ``strict``: whether it has OpenAI's strict mode.
    ``long_description``: above so many characters some models refuse. ``most``: so many tools.
    """

    names: NameRule
    properties: NameRule | None = None
    refused: Collection[str] = ()
    follows_references: bool = True
    needs_items: bool = False
    subset: Callable[[JsonSchema], tuple[JsonSchema, list[str]]] | None = None
    strict: bool = False
    long_description: int | None = None
    most: int | None = None


@dataclass(frozen=True)
class Definition:
    """One tool within the rules of an API, not yet in its shape."""

    name: str
    description: str
    schema: JsonSchema
    strict: bool
    deferred: bool
    binding: Binding
    problems: Sequence[ToolProblem]


def define(
    tools: Iterable[Tool],
    rules: DefinitionRules,
    strict: bool = False,
    inline_refs: bool | None = None,
    defer: Callable[[Tool], bool] | None = None,
) -> list[Definition]:
    """Bring tools within the rules. Of tools with one name the first counts, the others are told.

    ``inline_refs``: put what ``$ref`` refers to in its place; None: where the API needs it. The
    tools are not touched.
    """
    listed = list(tools)
    fitted = fit_names((tool.name for tool in listed), rules.names)
    definitions: dict[str, Definition] = {}
    for tool in listed:
        notes = []
        if tool.name in definitions:
            again = [*definitions[tool.name].problems, ToolProblem(tool.name, _TWICE)]
            definitions[tool.name] = _with_problems(definitions[tool.name], again)
            continue
        if fitted[tool.name] != tool.name:
            notes.append(f"its name is not taken; it is called {fitted[tool.name]}")
        if rules.most is not None and len(definitions) >= rules.most:
            notes.append(f"the API takes at most {rules.most} tools")
        deferred = defer is not None and defer(tool)
        definitions[tool.name] = _define(
            tool, fitted[tool.name], rules, strict, inline_refs, deferred, notes
        )
    return list(definitions.values())


_TWICE = "a second tool of this name was left out"


def _with_problems(definition: Definition, problems: Sequence[ToolProblem]) -> Definition:
    return Definition(**{**vars(definition), "problems": problems})


def _define(
    tool: Tool,
    name: str,
    rules: DefinitionRules,
    strict: bool,
    inline_refs: bool | None,
    deferred: bool,
    notes: list[str],
) -> Definition:
    schema, found = normal_schema(tool)
    notes += found
    if inline_refs or (inline_refs is None and not rules.follows_references):
        schema, found = inlined(schema)
        notes += found
    plain = plain_root(schema, rules.refused)
    schema, notes = plain.schema, notes + plain.notes
    if rules.subset is not None:
        schema, found = rules.subset(schema)
        notes += found
    renamed: dict[str, str] = {}
    if rules.properties is not None:
        conditions = _NAMING & schema.keys()
        schema, renamed = _with_properties_renamed(schema, rules.properties)
        if renamed and conditions:
            notes.append(f"left out beside new names: {', '.join(sorted(conditions))}")
        notes += [f"its property {old!r} is called {new!r}" for new, old in renamed.items()]
    if rules.needs_items:
        schema = _with_items(schema)
    optional = None
    if strict and not rules.strict:
        notes.append("not strict: only the strict mode of OpenAI is used")
    elif strict:
        stricter, reasons = strict_schema(schema)
        if reasons:
            notes.append("not strict: " + "; ".join(reasons))
        else:
            schema, optional = stricter, schema
    description = _description(tool, plain.sentence)
    if rules.long_description is not None and len(description) > rules.long_description:
        notes.append(
            f"its description has {len(description)} characters; "
            f"some models refuse more than {rules.long_description}"
        )
    return Definition(
        name,
        without_surrogates(description),
        without_surrogates(schema),
        optional is not None,
        deferred,
        Binding(tool, renamed, optional),
        [ToolProblem(tool.name, note) for note in notes],
    )


def _description(tool: Tool, sentence: str) -> str:
    """What the tool is for: never empty, which some APIs refuse."""
    texts = (tool.description, tool.title, tool.name)
    said = next((text for text in texts if text and text.strip()), "tool")
    return f"{said}\n\n{sentence}" if sentence else said


# Conditions at the root that may speak of properties by the server's names.
_NAMING = frozenset(
    {"dependentRequired", "dependentSchemas", "patternProperties", "propertyNames", "if", "then"}
    | {"else", "not", "allOf", "anyOf", "oneOf", "unevaluatedProperties"}
)


def _with_properties_renamed(
    schema: JsonSchema, rule: NameRule
) -> tuple[JsonSchema, dict[str, str]]:
    """Rename the properties at the root that the rule does not admit; the way back is told."""
    properties = schema["properties"]
    fitted = fit_names(properties, rule)
    renamed = {new: old for old, new in fitted.items() if new != old}
    if not renamed:
        return schema, {}
    result = dict(with_root_kept_apart(schema, _NAMING))
    result["properties"] = {fitted[name]: value for name, value in result["properties"].items()}
    for keyword in ("required", "propertyOrdering"):
        if keyword in result:
            result[keyword] = [fitted.get(name, name) for name in result[keyword]]
    if "patternProperties" in result:  # which the keyword spoke of as well
        result.pop("additionalProperties", None)
    for keyword in _NAMING & result.keys():
        del result[keyword]
    return result, renamed


def _with_items(schema: JsonSchema) -> JsonSchema:
    """Say of every array without ``items`` that these may be anything."""

    def add(value: JsonSchema, path: tuple[str, ...]) -> Rewritten:
        kinds = value.get("type")
        is_array = kinds == "array" or (isinstance(kinds, list) and "array" in kinds)
        return Rewritten(
            {**value, "items": {}} if is_array and "items" not in value else value, True
        )

    result: JsonSchema = rewritten(schema, add).schema
    return result
