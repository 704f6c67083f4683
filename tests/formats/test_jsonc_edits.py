"""One member is changed; everything else stays as it was written: F-MANY-7."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.formats.jsonc import JsoncError, parse_jsonc, remove_member, set_member
from tests.support.strategies import clean_texts, json_values
from tests.support.tables import each_row

TEXT = """{
  // head
  "servers": {
    "a": {"command": "x"}, // first
    // about b
    "b": {
      "command": "y"
    } /* last */
  },
  "other": [1, 2],
}
"""


def test_a_member_is_removed_with_its_line() -> None:
    assert remove_member(TEXT, ["servers", "a"]) == TEXT.replace(
        '    "a": {"command": "x"}, // first\n', ""
    )
    without = remove_member(TEXT, ["servers", "b"])
    assert "// about b" in without
    assert '"a": {"command": "x"} // first' in without
    assert parse_jsonc(without)["servers"] == {"a": {"command": "x"}}


def test_both_of_two_members_with_one_name_are_removed() -> None:
    text = '{"a": 1, "b": 2, "a": 3}'
    assert parse_jsonc(remove_member(text, ["a"])) == {"b": 2}


ADDED = {
    "": '{\n  "s": {\n    "n": 1\n  }\n}\n',
    "{}": '{\n  "s": {\n    "n": 1\n  }\n}',
    '{"s": {}}': '{"s": {\n  "n": 1\n}}',
    '{"s": {"a": 0}}': '{"s": {"a": 0, "n": 1}}',
    '{"s": {"a": 0,}}': '{"s": {"a": 0, "n": 1}}',
    '{\r\n\t"a": 1\r\n}': '{\r\n\t"a": 1,\r\n\t"s": {\r\n\t\t"n": 1\r\n\t}\r\n}',
}


@each_row(("text", "expected"), ADDED.items())
def test_objects_on_the_way_are_made_in_the_style_of_the_text(text: str, expected: str) -> None:
    assert set_member(text, ["s", "n"], 1) == expected


@each_row("path", [["x"], ["servers", "x"], ["x", "a"]])
def test_what_is_not_there_is_not_removed(path: list[str]) -> None:
    with pytest.raises(KeyError):
        remove_member(TEXT, path)


def test_a_value_that_json_would_change_is_refused() -> None:
    with pytest.raises(JsoncError, match="would not be read"):
        set_member("{}", ["a"], {1: 2})


@given(
    st.dictionaries(clean_texts, json_values, max_size=4),
    clean_texts,
    json_values,
    st.sampled_from([None, 0, 2, "\t"]),
)
def test_whatever_is_added_can_be_removed(
    document: dict[str, object], name: str, value: object, indent: str | int | None
) -> None:
    text = json.dumps(document, indent=indent)
    changed = set_member(text, [name], value)
    assert parse_jsonc(changed) == {**document, name: value}
    document.pop(name, None)
    assert parse_jsonc(remove_member(changed, [name])) == document
