"""Arguments as they are typed: key=value, JSON, files and stdin."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from mcpclient import UsageError
from mcpclient.cli.arguments import parse_arguments as parse_untyped
from mcpclient.cli.arguments import parse_text_arguments, type_of, unchecked_arguments


def parse_arguments(words: list[str]) -> dict[str, Any]:
    """The arguments of a tool whose schema is not known."""
    return unchecked_arguments(parse_untyped(words))


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("a=hi", "hi"),
        ("a=", ""),
        ("a=5", 5),
        ("a=-2.5e1", -25.0),
        ("a=true", True),
        ("a=null", None),
        ("a=[1, 2]", [1, 2]),
        ('a={"b": 1}', {"b": 1}),
        ("a=007", "007"),
        ('a="quoted"', '"quoted"'),
        ("a=NaN", "NaN"),
        ("a=Infinity", "Infinity"),
        ("a=12e4567", "12e4567"),
        ("a=x=y", "x=y"),
        ("a=" + "[" * 100_000, "[" * 100_000),
        ('a:="5"', "5"),
        ("a:=5", 5),
        ("a:=[true]", [True]),
    ],
)
def test_a_value_is_guessed_or_forced(word: str, value: Any) -> None:
    """F-SHOW-2"""
    assert parse_arguments([word]) == {"a": value}


def test_a_schema_that_contains_itself_is_read_once() -> None:
    """F-SAFE-6: a server's schema takes no more time than its size."""
    itself = {"anyOf": [{"$ref": "#"}] * 10, "type": "integer"}
    assert type_of(itself, itself) == "integer"


def test_several_arguments() -> None:
    """F-SHOW-2"""
    assert parse_arguments(["a=1", "b=two"]) == {"a": 1, "b": "two"}
    assert parse_arguments([]) == {}


def test_values_from_files(tmp_path: Path) -> None:
    """F-SHOW-2: text stays text, even if it looks like a number, unless JSON is asked for."""
    file = tmp_path / "value"
    file.write_text("5", "utf-8")
    assert parse_arguments([f"a=@{file}"]) == {"a": "5"}
    assert parse_arguments([f"a:=@{file}"]) == {"a": 5}
    assert parse_text_arguments([f"a=@{file}"]) == {"a": "5"}


def test_all_arguments_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-SHOW-2: from the command line, a file, stdin."""
    file = tmp_path / "arguments.json"
    file.write_text('{"a": "ü"}', "utf-8")
    monkeypatch.setattr("sys.stdin", io.StringIO('{"a": 2}'))
    assert parse_arguments(['{"a": "="}']) == {"a": "="}
    assert parse_arguments([f"@{file}"]) == {"a": "ü"}
    assert parse_arguments(["-"]) == {"a": 2}
    assert parse_text_arguments(['{"a": "b"}']) == {"a": "b"}


@pytest.mark.parametrize(
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
        parse_arguments(words)


def test_a_file_with_a_list_is_refused(tmp_path: Path) -> None:
    """F-SHOW-2"""
    file = tmp_path / "list.json"
    file.write_text("[1]", "utf-8")
    with pytest.raises(UsageError, match="a JSON object is needed"):
        parse_arguments([f"@{file}"])


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    """F-SHOW-2"""
    file = tmp_path / "binary"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="cannot read"):
        parse_arguments([f"a=@{file}"])


def test_stdin_that_is_no_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-SHOW-2: an exit code and a sentence, not a traceback."""
    binary = io.TextIOWrapper(io.BytesIO(b"\xff\xfe"), "utf-8")
    monkeypatch.setattr("sys.stdin", binary)
    with pytest.raises(UsageError, match="cannot read stdin"):
        parse_arguments(["-"])


def test_arguments_of_prompts_are_strings() -> None:
    """F-SHOW-2"""
    assert parse_text_arguments(["a=5", "b=true"]) == {"a": "5", "b": "true"}
    assert parse_text_arguments(['a:="5"']) == {"a": "5"}
    with pytest.raises(UsageError, match="'a' must be a string, not 5"):
        parse_text_arguments(['{"a": 5}'])


def test_bytes_that_are_no_characters_are_refused() -> None:
    """F-SHOW-2: as a shell hands them on, in any locale; JSON could not carry them."""
    for parse in (parse_arguments, parse_text_arguments):
        with pytest.raises(UsageError, match=r"not valid UTF-8: 'a\\udcff'"):
            parse(["message=a\udcff"])
