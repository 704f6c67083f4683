"""JSON within front matter, which is YAML, has the values that JSON has."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mcpclient.formats.front_matter import FlowReader, parse_front_matter, same_content
from tests.support.properties import examples
from tests.support.strategies import clean_texts


def renderings(value: Any) -> list[str]:
    """One value as front matter may have it under a key: as a flow, and in blocks."""
    found = [f"key: {json.dumps(value)}", f"key: {json.dumps(value, indent=1)}"]
    if isinstance(value, (dict, list)) and value:
        found.append("\n".join(["key:", *_lines(value, 2)]))
    return found


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
