"""Arguments as they are typed, and the schema of the tool: F-SHOW-2."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient import Tool, UsageError
from mcpclient.cli.arguments import (
    checked_arguments,
    example_words,
    parse_arguments,
    parse_text_arguments,
    signature,
    tool_named,
    type_of,
    unchecked_arguments,
)
from tests.support.properties import examples
from tests.support.strategies import clean_texts, json_objects, json_values
from tests.support.tables import each_row


def read(words: list[str]) -> dict[str, Any]:
    """The arguments of a tool whose schema is not known."""
    return unchecked_arguments(parse_arguments(words))


def test_a_schema_that_contains_itself_is_read_once() -> None:
    """F-SAFE-6: a server's schema takes no more time than its size."""
    itself = {"anyOf": [{"$ref": "#"}] * 10, "type": "integer"}
    assert type_of(itself, itself) == "integer"


def test_values_from_files(tmp_path: Path) -> None:
    """F-SHOW-2: text stays text, even if it looks like a number, unless JSON is asked for."""
    file = tmp_path / "value"
    file.write_text("5", "utf-8")
    assert read([f"a=@{file}"]) == {"a": "5"}
    assert read([f"a:=@{file}"]) == {"a": 5}
    assert parse_text_arguments([f"a=@{file}"]) == {"a": "5"}


@each_row(
    ("words", "reason"),
    [
        (["hello"], "not an argument: 'hello'"),
        (["=x"], "not an argument"),
        ([":=1"], "not an argument"),
        (["a=1", "a=2"], "'a' is given twice"),
        (["a:=x"], "a: not JSON"),
        (["a:=NaN"], "a: not JSON"),
        (["a:=-1e999"], "a: not JSON"),
        (["a:=" + "[" * 100_000], "nested too deeply"),
        (['{"a": 1'], "the arguments: not JSON"),
        (["{}", "a=1"], "not an argument: '{}'"),
        (["@/nowhere.json"], "cannot read '/nowhere.json'"),
        (["a=@/nowhere.json"], "cannot read '/nowhere.json'"),
    ],
)
def test_what_is_wrong_is_told(words: list[str], reason: str) -> None:
    """F-SHOW-2"""
    with pytest.raises(UsageError, match=reason):
        read(words)


def test_files_and_stdin_that_hold_no_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SHOW-2: an exit code and a sentence, not a traceback."""
    (tmp_path / "list.json").write_text("[1]", "utf-8")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe"), "utf-8"))
    for word, reason in (
        (f"@{tmp_path}/list.json", "a JSON object is needed"),
        (f"a=@{tmp_path}/binary", "cannot read"),
        ("-", "cannot read stdin"),
    ):
        with pytest.raises(UsageError, match=reason):
            read([word])


def test_arguments_of_prompts_are_strings() -> None:
    """F-SHOW-2"""
    assert parse_text_arguments(["a=5", "b=true"]) == {"a": "5", "b": "true"}
    assert parse_text_arguments(['a:="5"']) == {"a": "5"}
    with pytest.raises(UsageError, match="'a' must be a string, not 5"):
        parse_text_arguments(['{"a": 5}'])


def tool(*required: str, **properties: Any) -> Tool:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return Tool({"name": "t", "inputSchema": schema})


@each_row(
    ("schema", "text", "value"),
    [
        ({"type": "string"}, "5", "5"),
        ({"type": "string"}, "true", "true"),
        ({"type": "integer"}, "5", 5),
        ({"type": "integer"}, "5.0", 5),
        ({"type": "number"}, "2.5", 2.5),
        ({"type": "boolean"}, "yes", True),
        ({"type": "boolean"}, "0", False),
        ({"type": ["string", "null"]}, "null", None),
        ({"type": ["string", "integer"]}, "5", 5),
        ({"type": ["string", "integer"]}, "five", "five"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "x", "x"),
        ({"enum": ["1", "2"]}, "1", "1"),
        ({"enum": [1, 2]}, "1", 1),
        ({"const": "7"}, "7", "7"),
        ({"type": "array", "items": {"type": "integer"}}, "1,2", [1, 2]),
        ({"type": "array", "items": {"type": "string"}}, '["1"]', ["1"]),
        ({"type": "object"}, '{"a": 1}', {"a": 1}),
        ({"$ref": "#/properties/other"}, "5", "5"),
        ({"$ref": "#/nowhere"}, "5", 5),
        ({}, "5", 5),
        (True, "x", "x"),
    ],
)
def test_a_value_gets_the_type_of_the_schema(schema: Any, text: str, value: Any) -> None:
    given = parse_arguments([f"a={text}"])
    found = checked_arguments(tool(a=schema, other={"type": "string"}), given)
    assert found == {"a": value}
    assert type(found["a"]) is type(value)


@each_row(
    ("words", "reason"),
    [
        (["count=x"], "argument 'count' is of type integer, not 'x'"),
        (["count=1.5"], "argument 'count' is of type integer, not '1.5'"),
        (["count=1", "naem=x"], "there is no argument 'naem'; did you mean 'name'"),
        ([], "missing: count"),
        (['{"count": "1"}'], "/count"),
        (["count=1", "size=xl"], "/size"),
        (["count:=true"], "/count"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_signature(words: list[str], reason: str) -> None:
    named = tool("count", count={"type": "integer"}, name={"type": "string"}, size={"enum": ["s"]})
    with pytest.raises(UsageError, match=reason) as refused:
        checked_arguments(named, parse_arguments(words))
    assert 'usage: t count=integer [name=string] [size="s"]' in str(refused.value)
    assert "--unchecked" in refused.value.hint


@each_row("schema", [True, {"type": 5}, {"properties": {"a": {"pattern": "("}}}])
def test_a_schema_that_cannot_be_used_checks_nothing(schema: Any) -> None:
    odd = Tool({"name": "t", "inputSchema": schema})
    assert checked_arguments(odd, parse_arguments(["a=1"])) == {"a": 1}


def test_a_tool_by_its_name() -> None:
    tools = [Tool({"name": "git_log"}), Tool({"name": "git_status"})]
    for name in ("git_log", "demo.git_log", "demo__git_log"):
        assert tool_named(name, tools, "demo") is tools[0]
    for wrong, meant in (
        ("GIT_LOG", "mean 'git_log'"),
        ("zzz", "are git_log, git_status"),
        ("memo.git_log", "no tool 'memo.git_log'"),
    ):
        with pytest.raises(UsageError, match=meant):
            tool_named(wrong, tools, "demo")
    with pytest.raises(UsageError, match="there are none"):
        tool_named("x", [])


keys = st.text("ab-_.é", min_size=1, max_size=5).filter(lambda key: key != "-")


@examples(30)
@given(st.dictionaries(keys, json_values, max_size=3), json_objects)
def test_json_arrives_as_it_was_typed(pairs: dict[str, Any], whole: dict[str, Any]) -> None:
    """F-SHOW-2: ``key:=json``, and all arguments in one object."""
    assert read([f"{key}:={json.dumps(value)}" for key, value in pairs.items()]) == pairs
    assert read([json.dumps(whole)]) == whole


@examples(30)
@given(keys, clean_texts.filter(lambda text: not text.startswith("@")))
def test_text_stays_text(key: str, text: str) -> None:
    """F-SHOW-2: for a prompt always, for a tool unless it is another kind of JSON value."""
    assert parse_text_arguments([f"{key}={text}"]) == {key: text}
    found = read([f"{key}={text}"])[key]
    assert found == text or json.loads(text) == found


SHOT = Tool(
    {
        "name": "shot",
        "inputSchema": {
            "properties": {
                "scale": {"enum": ["css", "device"], "default": "css"},
                "area": {"properties": {"unit": {"default": "px"}}, "required": ["unit", "x"]},
            },
            "required": ["scale"],
        },
    }
)


def test_a_required_argument_with_a_default_is_left_to_the_server() -> None:
    """F-SHOW-2: generators of schemas (zod) write that; so does an object within."""
    assert checked_arguments(SHOT, {}) == {}
    assert checked_arguments(SHOT, {"area": {"x": 1}}) == {"area": {"x": 1}}
    with pytest.raises(UsageError, match="x"):
        checked_arguments(SHOT, {"area": {}})
    assert signature(SHOT) == 'shot [scale="css" | "device"] [area=any]'
    assert example_words(SHOT) == ["shot"]


@each_row("name", ["--model", "@file", "{a", "b:", "c=d"])
def test_an_example_is_of_arguments_only(name: str) -> None:
    """F-SAFE-6: a name from a server is not an option, nor a file, of the line that is copied."""
    tool = Tool({"name": "x", "inputSchema": {"required": [name]}})
    word, *more = example_words(tool)[1:]
    assert (json.loads(word), more) == ({name: "text"}, [])
    default = {"properties": {"a": {"const": "@/etc/passwd"}}, "required": ["a"]}
    words = example_words(Tool({"name": "x", "inputSchema": default}))
    assert words == ["x", '{"a": "@/etc/passwd"}']
