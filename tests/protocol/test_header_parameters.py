"""Tool arguments in HTTP headers, by the tables of the specification: F-HTTP-9."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.errors import UsageError
from mcpclient.protocol.header_parameters import (
    HeaderParameter,
    HeaderParameters,
    encode_header_value,
    header_parameters_of,
)
from tests.support.tables import each_row


def annotated(name: Any, kind: Any = "string") -> dict[str, Any]:
    return {"type": kind, "x-mcp-header": name}


def schema_of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def sent(schema: Any, arguments: Any) -> dict[str, str]:
    parameters = HeaderParameters()
    parameters.learn({"name": "tool", "inputSchema": schema})
    return parameters.for_call({"name": "tool", "arguments": arguments})


@each_row("value", [2**53, -(2**53), 1e300, 10**400])
def test_an_integer_that_javascript_lacks_is_not_sent(value: float) -> None:
    """F-HTTP-9: the header and the body would say different things to who reads them."""
    with pytest.raises(UsageError, match="at most 9007199254740991"):
        sent(schema_of(x=annotated("X", "integer")), {"x": value})


def test_nested_properties() -> None:
    """F-HTTP-9: the value is read at the exact path; a step that is missing means no header."""
    schema = schema_of(a=schema_of(b=annotated("B"), properties=annotated("P")))
    assert header_parameters_of(schema) == [
        HeaderParameter("B", ("a", "b")),
        HeaderParameter("P", ("a", "properties")),
    ]
    assert sent(schema, {"a": {"b": "1", "properties": "2"}, "b": "no"}) == {
        "Mcp-Param-B": "1",
        "Mcp-Param-P": "2",
    }
    assert sent(schema, {"a": "text"}) == {}
    assert sent(schema, {"a": None}) == {}


@pytest.mark.parametrize(
    "schema",
    [
        # The twelve bad tools of the official suite, and what else the page forbids.
        pytest.param(schema_of(x=annotated("")), id="empty"),
        pytest.param(schema_of(x=annotated("X", "object")), id="object"),
        pytest.param(schema_of(x=annotated("X", "array")), id="array"),
        pytest.param(schema_of(x=annotated("X", "null")), id="null"),
        pytest.param(schema_of(x=annotated("X", "number")), id="number"),
        pytest.param(schema_of(x=annotated("X"), y=annotated("X")), id="same name"),
        pytest.param(schema_of(x=annotated("Region"), y=annotated("REGION")), id="other case"),
        pytest.param(schema_of(x=annotated("My Region")), id="space"),
        pytest.param(schema_of(x=annotated("Region:Primary")), id="colon"),
        pytest.param(schema_of(x=annotated("Région")), id="not ascii"),
        pytest.param(schema_of(x=annotated("Region\tID")), id="tab"),
        pytest.param(schema_of(x=annotated("X\r\nEvil: 1")), id="line end"),
        pytest.param(schema_of(x=annotated("X\n")), id="line end at the end"),
        pytest.param(schema_of(x=annotated(5)), id="no string"),
        pytest.param(schema_of(x=annotated(None)), id="null name"),
        pytest.param(schema_of(x={"x-mcp-header": "X"}), id="no type"),
        pytest.param(schema_of(x=annotated("X", ["string", "null"])), id="several types"),
        pytest.param({"type": "string", "x-mcp-header": "X"}, id="the root"),
        pytest.param(schema_of(x={"type": "array", "items": annotated("X")}), id="items"),
        pytest.param(schema_of(x={"prefixItems": [annotated("X")]}), id="prefixItems"),
        pytest.param({"oneOf": [schema_of(x=annotated("X"))]}, id="oneOf"),
        pytest.param({"anyOf": [schema_of(x=annotated("X"))]}, id="anyOf"),
        pytest.param({"allOf": [schema_of(x=annotated("X"))]}, id="allOf"),
        pytest.param({"not": schema_of(x=annotated("X"))}, id="not"),
        pytest.param({"if": schema_of(x=annotated("X"))}, id="if"),
        pytest.param({"then": schema_of(x=annotated("X"))}, id="then"),
        pytest.param({"$defs": {"d": annotated("X")}}, id="$defs"),
        pytest.param(schema_of(x={"oneOf": [annotated("X")]}), id="oneOf of a property"),
        pytest.param({"additionalProperties": annotated("X")}, id="additionalProperties"),
        pytest.param({"patternProperties": {"^x": annotated("X")}}, id="patternProperties"),
    ],
)
def test_invalid_annotations(schema: Any) -> None:
    """F-HTTP-9: any broken rule makes the tool unusable, with the reason."""
    with pytest.raises(ValueError, match="x-mcp-header"):
        header_parameters_of(schema)


def test_a_schema_nested_without_end() -> None:
    """F-WIRE-7: looking for annotations has a bound."""
    schema: dict[str, Any] = annotated("X")
    for _ in range(5_000):
        schema = schema_of(x=schema)
    assert header_parameters_of(schema) == []


@each_row("value", ["us-west1", "", "a b  c", "=?base64?open", "closed?="])
def test_a_value_that_a_header_can_carry(value: str) -> None:
    """F-HTTP-9: it is sent as it is."""
    assert encode_header_value(value) == value


@each_row(
    ("value", "encoded"),
    [
        ("Hello, 世界", "SGVsbG8sIOS4lueVjA=="),
        (" leading", "IGxlYWRpbmc="),
        ("trailing ", "dHJhaWxpbmcg"),
        ("a\tb", "YQli"),
        ("\x7f", "fw=="),
        ("=?base64?literal?=", "PT9iYXNlNjQ/bGl0ZXJhbD89"),
    ],
)
def test_a_value_in_base64(value: str, encoded: str) -> None:
    """F-HTTP-9: a header cannot carry it, or it would be read as encoded."""
    assert encode_header_value(value) == f"=?base64?{encoded}?="


def test_only_annotations_ask_for_headers() -> None:
    """F-HTTP-9: data that look like one do not."""
    data = {"examples": [{"x-mcp-header": ""}], "default": {"x-mcp-header": ""}}
    assert header_parameters_of(schema_of(x=data, y={"enum": [{"x-mcp-header": ""}]})) == []
    assert sent(schema_of(x=annotated("X", "boolean")), {"x": True}) == {"Mcp-Param-X": "true"}


def test_the_last_list_of_tools_counts() -> None:
    """F-HTTP-9: a tool that became invalid, or has no annotation any more, loses its headers."""
    parameters = HeaderParameters()
    call = {"name": "t", "arguments": {"x": "1"}}
    valid = {"name": "t", "inputSchema": schema_of(x=annotated("X"))}
    parameters.learn(valid)
    assert parameters.for_call(call) == {"Mcp-Param-X": "1"}
    with pytest.raises(ValueError, match="not an HTTP field name"):
        parameters.learn({"name": "t", "inputSchema": schema_of(x=annotated(""))})
    assert parameters.for_call(call) == {}
    parameters.learn(valid)
    parameters.learn({"name": "t"})
    assert parameters.for_call(call) == {}
