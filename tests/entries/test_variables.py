"""F-MANY-8, F-MANY-18: variables in texts, put in once and never read again; .env files; inputs."""

from __future__ import annotations

import os
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.entries.entry import EntryError
from mcpclient.entries.variables import (
    Inputs,
    InputSpec,
    Variables,
    folders_of,
    has_references,
    input_specs,
    literal,
    parse_dotenv,
    references,
    with_values,
)
from mcpclient.errors import UsageError
from tests.support.strategies import texts

ENVIRON = {"A": "value", "EMPTY": "", "AGAIN": "${A}", "SPACE": "a b"}
FOLDERS = folders_of("/w", "/f", "/h")
FILES = {"/f/secret": " text \n", "/h/secret": "mine", "/etc/x": "x"}


def read(path: str) -> str:
    path = path.replace("\\", "/")  # as Windows joins folders
    if path not in FILES:
        raise FileNotFoundError(path)
    return FILES[path]


def variables(inputs: Inputs | None = None, **choices: Any) -> Variables:
    return Variables(ENVIRON, inputs or Inputs(None, None), FOLDERS, read, **choices)


EXPANDED = {
    "${A}": "value",
    "a${A}b${A}": "avaluebvalue",
    "${env:A}": "value",
    "{env:A}": "value",
    "${A:-d}": "value",
    "${X:-d}": "d",
    "${env:X:-d e}": "d e",
    "${X:-}": "",
    "${EMPTY:-d}": "",
    "${X:-a:-b}": "a:-b",
    "${AGAIN}": "${A}",
    "${workspaceFolder}/x": "/w/x",
    "a${/}b": "a/b",
    "{file:secret}": "text",
    "${file:/etc/x}": "x",
    "{file:~/secret}": "mine",
    "Bearer ${{ secrets.A }}": "Bearer value",
    "${{env.A}}": "value",
}


@pytest.mark.parametrize(("text", "expected"), EXPANDED.items())
def test_what_has_a_value(text: str, expected: str) -> None:
    """F-MANY-8"""
    found = variables().expand(text)
    assert (found.text, found.missing) == (expected, ())


@pytest.mark.parametrize(
    "text",
    [
        *("$A", "%A%", "@{A}", "${process.env.A}", "$${", "${}", "${A", "{A}", "${env:}", "~"),
        *("${command:x}", "~/x", "${A B}", "{env:A B}", "${1}"),
    ],
)
def test_what_is_no_variable_stays(text: str) -> None:
    assert variables().expand(text) == variables().expand(text, keep_missing=True)
    assert variables().expand(text).text == text


MISSING = ["${X}", "${env:X}", "{env:X}", "${input:x}", "{file:none}", "${file:none}"]
MISSING += ["${{ secrets.X }}"]


@pytest.mark.parametrize("text", MISSING)
def test_what_has_no_value(text: str) -> None:
    """F-MANY-8: it is told, and the text is empty there, or stays."""
    found = variables().expand(f"a{text}b{text}")
    assert (found.text, found.missing) == ("ab", (text, text))
    assert variables().expand(f"a{text}", keep_missing=True).text == f"a{text}"


def test_a_bare_dollar_is_for_those_who_say_so() -> None:
    assert variables(bare_dollar=True).expand("$A-${A}-$X").text == "value-value-"


def test_the_users_folder() -> None:
    found = variables()
    assert found.expand("~/x", is_path=True).text == "/h/x"
    assert found.expand("~", is_path=True).text == "/h"
    assert found.expand("~me/x ~/y", is_path=True).text == "~me/x ~/y"


@given(st.text("${}aAenv:input-~/ ", max_size=30))
def test_a_value_is_never_read_again(value: str) -> None:
    found = Variables({"A": value}, Inputs(None, None), {}, read)
    assert found.expand("<${A}>").text == f"<{value}>"
    found.expand(value, is_path=True)


DECLARED = [
    {"id": "token", "type": "promptString", "description": "A token", "password": True},
    {"id": "size", "type": "pickString", "options": ["s", {"label": "L", "value": "l"}, 3]},
    {"id": "level", "default": "info"},
    {"id": 3},
    "x",
]


def test_inputs_are_asked_for_once() -> None:
    """F-MANY-8: ${input:id}"""
    seen: list[InputSpec] = []

    def ask(spec: InputSpec) -> str | None:
        seen.append(spec)
        return {"token": "t", "size": "l"}.get(spec.id)

    found = variables(Inputs(DECLARED, ask))
    assert found.expand("${input:token}${input:token}").text == "tt"
    assert found.expand("${input:size}${input:level}").text == "linfo"
    assert found.expand("${input:level}${input:other}").missing == ("${input:other}",)
    assert [spec.id for spec in seen] == ["token", "size", "level", "other"]
    assert seen[0] == InputSpec("token", "A token", "promptString", password=True)
    assert (seen[1].choices, seen[1].description) == (("s", "l"), "")


def test_inputs_that_are_given() -> None:
    found = variables(Inputs(DECLARED, {"token": "t"}))
    assert found.expand("${input:token} ${input:level}").text == "t info"
    assert found.expand("${input:size}").missing == ("${input:size}",)
    with pytest.raises(UsageError, match="'token' must be a string, not int"):
        variables(Inputs(None, {"token": 3})).expand("${input:token}")  # type: ignore[dict-item]


def test_what_a_text_refers_to() -> None:
    assert references("${input:a} $b ${input:c}", "input") == ["a", "c"]


TEXT = """\ufeff# comment
A=1
export B = two words # comment
C="a \\"b\\"\\n# c" # comment
D='$A \\n'
E=
F=a#b
G="open
not a line
"""


def test_lines() -> None:
    """F-MANY-8: envFile"""
    found, wrong = parse_dotenv(TEXT)
    assert found == {
        "A": "1",
        "B": "two words",
        "C": 'a "b"\n# c',
        "D": "$A \\n",
        "E": "",
        "F": "a#b",
        "G": '"open',
    }
    assert wrong == [9]


@pytest.mark.parametrize("sign", ["\u2028", "\x85", "\x0b", "\x0c"])
def test_only_the_end_of_a_line_ends_a_value(sign: str) -> None:
    """F-MANY-8"""
    assert parse_dotenv(f"A=1{sign}B=2\r\nC=3") == ({"A": f"1{sign}B=2", "C": "3"}, [])


@given(texts)
def test_any_text_is_read(text: str) -> None:
    found, wrong = parse_dotenv(text)
    assert len(found) + len(wrong) <= len(text.splitlines())


@pytest.mark.parametrize("text", ["plain", "$HOME", "${A}", "{file:x}", "${input:a}", "{", "$"])
def test_a_literal_stays_as_it_is(text: str) -> None:
    known = variables(Inputs(None, lambda spec: "asked"))
    assert known.expand(literal(text)).text == text
    assert known.expand(literal("{") + literal("env:A}")).text == "{env:A}"


def test_an_optional_input_without_a_value_is_omitted() -> None:
    """F-MANY-18: without a warning, as one that is missing gets."""
    known = variables(Inputs([InputSpec("a", need="optional"), InputSpec("b")], None))
    assert known.expand("x${input:a}").omitted
    assert known.expand("x${input:a}").missing == ()
    assert known.expand("${input:b}").missing == ("${input:b}",)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("/a", ["/a"]),
        (f"/a{os.pathsep} /b c", ["/a", "/b c"]),
        ("/a\n/b:c", ["/a", "/b:c"]),
        ("", []),
    ],
)
def test_an_input_with_several_values(value: str, words: list[str]) -> None:
    known = variables(Inputs([InputSpec("a", several=True), InputSpec("b")], {"a": value}))
    assert known.words("${input:a}") == words
    assert known.expand("--all=${input:a}").text == f"--all={os.pathsep.join(words)}"
    for text in ("x${input:a}", "${input:b}", "${A}", "a"):
        assert known.words(text) is None


def test_an_answer_that_was_kept_is_not_asked_for_again() -> None:
    """F-MANY-18: values in code count more; an empty answer stands for the default."""
    specs = [
        InputSpec("a", kept="key a"),
        InputSpec("b", kept="key b", default="d"),
        InputSpec("c"),
    ]
    kept = {"key a": "kept", "key b": ""}
    inputs = Inputs(specs, lambda spec: f"asked {spec.id}", kept.get)
    assert [inputs.value(name) for name in "abc"] == ["kept", "d", "asked c"]
    assert Inputs(specs, {"a": "given"}, kept.get).value("a") == "given"


def test_an_input_of_a_file_may_be_needed() -> None:
    (spec,) = input_specs([{"id": "a", "required": True, "kept": "key"}, {"no": "id"}, 3])
    assert (spec.id, spec.need, spec.kept) == ("a", "required", "")
    assert input_specs("x") == []


def test_values_between_what_stays() -> None:
    """F-MANY-18: what looks like a variable in a bundle's own text stays as it is."""
    pattern = re.compile("<(.)>")
    text = with_values(pattern, "${A} <x> {env:A} <y>", _known)
    assert variables().expand(text).text == "${A} value {env:A} <y>"


def _known(match: re.Match[str]) -> str | None:
    return "${A}" if match[1] == "x" else None


def test_a_path_that_lacks_a_value() -> None:
    """F-MANY-8: every variable without one is named, and an optional input is none of them."""
    given = variables(Inputs([InputSpec("may", need="optional")], None))
    assert given.required("~/x${input:may}", "cwd") == "/h/x"
    with pytest.raises(EntryError, match=r"\$\{X\}, \$\{Y\} has no value"):
        given.required("${X}/${Y}", "cwd")


def test_values_that_are_too_long_together() -> None:
    """F-MANY-8, F-SAFE-1: nothing that a file repeats fills the memory."""
    many = Variables({"A": "x" * 2**20}, Inputs(None, None), FOLDERS, read)
    with pytest.raises(EntryError, match="too long"):
        many.expand("${A}" * 17)
    assert has_references("${A}")
    assert not has_references("{A}")
