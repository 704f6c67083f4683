"""Tools within the rules of the model APIs: nothing valid is lost, nothing dropped in silence."""

from __future__ import annotations

from typing import Any, Callable

import pytest
from hypothesis import given

from mcpclient.adapters import anthropic, bedrock, google, openai_chat, openai_responses
from mcpclient.adapters.definitions import DefinitionRules, ToolDefinitions, define
from mcpclient.adapters.limits import NameRule
from mcpclient.protocol.schema import compile_schema
from mcpclient.protocol.types import Tool
from tests.adapters.shapes import SHAPES, tool
from tests.support.strategies import hostile_json

ANY_NAME = DefinitionRules(NameRule("a-z_", 20))

PROVIDERS: dict[str, tuple[Any, Callable[[Any], dict[str, Any]]]] = {
    "anthropic": (anthropic, lambda made: made[0]["input_schema"]),
    "openai_chat": (openai_chat, lambda made: made[0]["function"]["parameters"]),
    "openai_responses": (openai_responses, lambda made: made[0]["parameters"]),
    "google": (google, lambda made: made[0]["functionDeclarations"][0]["parametersJsonSchema"]),
    "bedrock": (bedrock, lambda made: made[0]["toolSpec"]["inputSchema"]["json"]),
}
each_provider = pytest.mark.parametrize("provider", PROVIDERS)


def messages(made: ToolDefinitions) -> list[str]:
    return [problem.message for problem in made.problems]


@each_provider
@given(schema=hostile_json({"type", "properties", "anyOf", "$ref", "items", "required", "$defs"}))
def test_any_schema_becomes_one_that_is_valid(provider: str, schema: object) -> None:
    """F-TOOL-1: whatever a server sends, the request is not refused for it."""
    module, schema_of = PROVIDERS[provider]
    compile_schema(schema_of(module.tools([Tool({"name": "t", "inputSchema": schema})])))


def test_a_second_tool_of_the_same_name() -> None:
    """F-TOOL-1: the first counts, and the other is not lost in silence."""
    first, second = tool({}, "a", description="1"), tool({}, "a", description="2")
    made = ToolDefinitions()
    assert [*define(made, [first, second], ANY_NAME)]
    (definition,) = made.defined
    assert definition.binding.tool is first
    assert definition.notes == ["a second tool of this name was left out"]


def test_too_many_tools_are_told() -> None:
    """F-TOOL-1: these are limits of some models, so nothing is cut."""
    tools = [tool({}, f"t{number}", description="d" * 1025) for number in range(129)]
    made = openai_chat.tools(tools)
    assert len(made) == 129
    assert [str(problem) for problem in made.problems if "128" in problem.message] == [
        "the API takes at most 128 tools, and these are 129; use include= or search="
    ]


def test_renamed_properties_are_told_with_what_had_to_go() -> None:
    """F-TOOL-1."""
    schema, _ = SHAPES["names that no API takes"]
    made = anthropic.tools([tool(schema)])
    assert "its property 'é' is called '_'" in messages(made)
    assert "left out beside new names: patternProperties" in messages(made)
    assert made[0]["input_schema"]["required"] == [
        new for new, old in made.bindings["t"].properties.items() if old == "a b"
    ]


def test_a_property_may_be_asked_for_in_an_order() -> None:
    """F-TOOL-1"""
    schema = {"properties": {"a b": {}, "c": {}}, "propertyOrdering": ["c", "a b"]}
    made = anthropic.tools([tool(schema)])
    assert made[0]["input_schema"]["propertyOrdering"] == ["c", "a_b"]


def test_arrays_say_what_is_in_them_where_the_api_asks() -> None:
    """F-TOOL-1: OpenAI refuses an array without items."""
    schema = {"properties": {"a": {"type": "array"}, "b": {"type": ["array", "null"]}}}
    parameters = openai_chat.tools([tool(schema)])[0]["function"]["parameters"]
    assert parameters["properties"] == {
        "a": {"type": "array", "items": {}},
        "b": {"type": ["array", "null"], "items": {}},
    }


def test_a_union_at_the_root_is_said_in_words() -> None:
    """F-TOOL-1: a model that does not get the union still learns what belongs together."""
    schema, _ = SHAPES["a union at the root"]
    made = anthropic.tools([tool(schema, description="d")])
    assert made[0]["description"] == (
        "d\n\nGive one of these groups of arguments: (kind, x) or (kind, y)."
    )
    assert messages(made) == ["oneOf at the root was merged into one object"]
    assert made[0]["input_schema"]["properties"]["kind"] == {"enum": ["a", "b"]}


def test_tools_that_are_not_for_models() -> None:
    """F-TOOL-9: as SEP-1865 has them; without a list, everybody may call a tool."""
    shown: list[Any] = [["model"], ["app", "model"], None, "app", {}]
    hidden: list[Any] = [["app"], []]
    tools = [
        tool({}, f"t{number}", _meta={"ui": {"visibility": visibility}})
        for number, visibility in enumerate([*shown, *hidden])
    ]
    made = anthropic.tools([*tools, tool({}, "odd", _meta={"ui": 1})])
    assert [one["name"] for one in made] == ["t0", "t1", "t2", "t3", "t4", "odd"]
    assert [str(problem) for problem in made.problems] == [
        "t5: left out: it is not for models",
        "t6: left out: it is not for models",
    ]


@pytest.mark.parametrize("provider", ["openai_chat", "google", "bedrock"])
def test_deferring_where_it_does_nothing(provider: str) -> None:
    """F-TOOL-9: it is reported once, and the definitions do not have it."""
    module, _ = PROVIDERS[provider]
    tools = [tool({}, "a"), tool({}, "b")]
    made = module.tools(tools, defer=lambda one: True)
    assert made == module.tools(tools)
    assert [str(problem) for problem in made.problems] == [
        "defer does nothing: the API has no search for tools; use search="
    ]
    assert module.tools(tools, defer=lambda one: False).problems == []
    for other in (anthropic, openai_responses):
        assert other.tools(tools, defer=lambda one: True).problems == []


NULLS = {
    "type": "object",
    "properties": {
        "a b": {"type": "string"},
        "free": {},
        "null": {"type": ["string", "null"]},
        "union": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "must": {"type": "string"},
        "deep": {"type": "object", "properties": {"x": {"type": "string"}}},
        "list": {"type": "array", "items": {"$ref": "#/$defs/row"}},
    },
    "required": ["must"],
    "$defs": {"row": {"type": "object", "properties": {"y": {"enum": ["z"]}}}},
}


@each_provider
def test_nulls_for_optional_parameters(provider: str) -> None:
    """F-TOOL-9: models send them for omitted arguments, and many servers refuse them."""
    module, _ = PROVIDERS[provider]
    binding = module.tools([tool(NULLS)]).bindings["t"]
    renamed = {old: new for new, old in binding.properties.items()}
    sent: dict[str, Any] = {renamed.get(name, name): None for name in NULLS["properties"]}
    sent.update({"deep": {"x": None, "other": None}, "list": [{"y": None}, None]})
    assert binding.arguments(sent) == {
        "free": None,
        "null": None,
        "union": None,
        "must": None,
        "deep": {"other": None},
        "list": [{}, None],
    }


@pytest.mark.parametrize("provider", ["anthropic", "bedrock"])
def test_the_strict_mode_of_claude(provider: str) -> None:
    """F-TOOL-9: optional properties stay optional, and bounds are said in words."""
    module, schema_of = PROVIDERS[provider]
    schema = {
        "type": "object",
        "properties": {
            "n": {"type": "integer", "minimum": 1, "description": "how many"},
            "at": {"type": "string", "format": "date-time"},
            "mail": {"type": "string", "format": "idn-email"},
            "rows": {
                "type": "array",
                "items": {"type": "object", "properties": {"x": {"type": "string"}}},
            },
        },
        "required": ["n"],
    }
    made = module.tools([tool(schema)], strict=True)
    assert made.problems == []
    assert (made[0].get("strict") or made[0]["toolSpec"].get("strict")) is True
    assert schema_of(made) == {
        "type": "object",
        "properties": {
            "n": {"type": "integer", "description": "how many (minimum: 1)"},
            "at": {"type": "string", "format": "date-time"},
            "mail": {"type": "string", "description": "(format: idn-email)"},
            "rows": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"x": {"type": "string"}},
                    "required": [],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["n"],
        "additionalProperties": False,
    }


def test_what_claude_does_not_take_in_strict_mode() -> None:
    """F-TOOL-9: the tool is sent as it is otherwise, with the reason."""
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    recursive = {"properties": {"first": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}}
    for schema, reason in (
        (recursive, "it contains itself"),
        ({"properties": {"a": {"not": {}}}}, "at /properties/a: not is not accepted"),
    ):
        made = anthropic.tools([tool(schema)], strict=True)
        assert "strict" not in made[0]
        assert reason in messages(made)[0]


def test_how_much_a_request_takes_in_strict_mode() -> None:
    """F-TOOL-9: 20 tools, 24 optional properties and 16 unions, or the request is refused."""
    optional = {f"p{number}": {"type": "string"} for number in range(10)}
    unions = {f"p{number}": {"type": ["string", "null"]} for number in range(9)}

    def strict(*schemas: dict[str, Any]) -> tuple[list[bool], list[str]]:
        made = anthropic.tools([tool(one, f"t{n}") for n, one in enumerate(schemas)], strict=True)
        return ["strict" in one for one in made], messages(made)

    assert strict(*[{}] * 21) == (
        [True] * 20 + [False],
        ["not strict: a request takes at most 20 tools in strict mode"],
    )
    assert strict(*[{"properties": optional}] * 3, {}) == (
        [True, True, False, True],
        ["not strict: a request takes at most 24 optional properties in strict mode"],
    )
    needed = {"properties": unions, "required": list(unions)}
    assert strict(needed, needed) == (
        [True, False],
        ["not strict: a request takes at most 16 unions in strict mode"],
    )


@each_provider
def test_invisible_text_reaches_no_model_and_is_told(provider: str) -> None:
    """F-SAFE-12: definitions are without it, and its values still lead back to the server's."""
    unseen = "\U000e0072\U000e006d"
    colour = {"enum": [f"red{unseen}", "blue"], "description": f"Which{unseen}."}
    schema = {"type": "object", "properties": {"colour": colour, "n": {"type": "string"}}}
    offered = tool(schema, f"paint{unseen}", description=f"Paints.{unseen} \u2764\ufe0f")
    module, schema_of = PROVIDERS[provider]
    made = module.tools([offered])
    assert unseen[0] not in repr(list(made)) and "Paints. \u2764\ufe0f" in str(list(made))
    assert schema_of(made)["properties"]["colour"]["enum"] == ["red", "blue"]
    told = "2 invisible characters: U+E0072 TAG LATIN SMALL LETTER R at "
    assert any(f"left out of description: {told}7, " in each for each in messages(made))
    assert any(
        f"left out of inputSchema.properties.colour.enum[0]: {told}3" in each
        for each in messages(made)
    )
    (binding,) = made.bindings.values()
    given = {"colour": "red", "n": "redder"}
    assert binding.arguments(given) == {"colour": f"red{unseen}", "n": "redder"}
    assert binding.tool is offered
