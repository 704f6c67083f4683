"""Parsers and small machines of the protocol: what goes in comes out, and nothing raises."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from mcpclient.formats.front_matter import FlowReader, parse_front_matter, same_content
from mcpclient.framing.headers import encode_header
from mcpclient.protocol.header_parameters import HeaderParameters
from tests.support.properties import examples
from tests.support.strategies import clean_texts, json_values

# YAML, which has JSON in it


def renderings(value: Any) -> list[str]:
    """One value as front matter may have it under a key: as a flow, and in blocks."""
    return [f"key: {json.dumps(value)}", f"key: {json.dumps(value, indent=1)}", *blocks(value)]


def blocks(value: Any) -> list[str]:
    is_nested = isinstance(value, (dict, list)) and value
    return ["\n".join(["key:", *_lines(value, 2)])] if is_nested else []


def _lines(value: Any, indent: int) -> list[str]:
    space, lines = " " * indent, []
    members = value.items() if isinstance(value, dict) else [(None, item) for item in value]
    for name, member in members:
        head = f"{space}-" if name is None else f"{space}{json.dumps(name)}:"
        if isinstance(member, (dict, list)) and member:
            lines += [head, *_lines(member, indent + 2)]
        else:
            lines.append(f"{head} {json.dumps(member)}")
    return lines


yaml_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | clean_texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(clean_texts, inner, max_size=3),
    max_leaves=6,
)


@examples(30)
@given(yaml_values)
def test_json_is_read_as_yaml(value: Any) -> None:
    """F-API-16: in quotes and brackets, over several lines, and as the values of blocks."""
    for text in renderings(value):
        assert parse_front_matter(text) == {"key": value}
        assert same_content({"key": value}, json.loads(json.dumps({"key": value})))
    if isinstance(value, (dict, list, str)):
        text = json.dumps(value)
        reader = FlowReader(text + " # more")
        assert reader.value() == value
        assert reader.position == len(text)


schema_names = st.sampled_from(["properties", "a", "items", "x-mcp-header", "type", "enum"])
tool_schemas = st.recursive(
    st.sampled_from(["A", "b", "string", "integer", "boolean", " ", 5, None]),
    lambda inner: st.dictionaries(schema_names, inner, max_size=3) | st.lists(inner, max_size=2),
    max_leaves=12,
)


@examples(40)
@given(tool_schemas, json_values)
@example({"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}, {"a": "\u2713"})
def test_any_schema_has_header_parameters_or_a_fault(schema: Any, arguments: Any) -> None:
    """F-HTTP-9: a tool whose annotations are wrong is refused, and sends nothing."""
    known = HeaderParameters()
    try:
        known.learn({"name": "t", "inputSchema": schema})
    except ValueError as error:
        assert str(error)
        assert known.for_call({"name": "t", "arguments": arguments}) == {}
    for name, value in known.for_call({"name": "t", "arguments": arguments}).items():
        encode_header(name, value)
