"""Tool arguments in HTTP headers, by the tables of the specification: F-HTTP-9."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.errors import UsageError
from mcpclient.protocol.header_parameters import (
    HeaderParameter,
    HeaderParameters,
    header_parameters_of,
)


def annotated(name: Any, kind: Any = "string") -> dict[str, Any]:
    return {"type": kind, "x-mcp-header": name}


def schema_of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def sent(schema: Any, arguments: Any) -> dict[str, str]:
    parameters = HeaderParameters()
    parameters.learn({"name": "tool", "inputSchema": schema})
    return parameters.for_call({"name": "tool", "arguments": arguments})


@pytest.mark.parametrize("value", [2**53, -(2**53), 1e300, 10**400])
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
