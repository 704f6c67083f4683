"""F-MANY-8, F-MANY-18: variables in strings, put in once, never read again; .env files; inputs."""

from __future__ import annotations

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
    input_specs,
    parse_dotenv,
    references,
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


MISSING = ["${X}", "${env:X}", "{env:X}", "${input:x}", "{file:none}", "${file:none}"]
MISSING += ["${{ secrets.X }}"]


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


@given(texts)
def test_any_text_is_read(text: str) -> None:
    found, wrong = parse_dotenv(text)
    assert len(found) + len(wrong) <= len(text.splitlines())


def test_an_input_of_a_file_may_be_needed() -> None:
    (spec,) = input_specs([{"id": "a", "required": True, "kept": "key"}, {"no": "id"}, 3])
    assert (spec.id, spec.need, spec.kept) == ("a", "required", "")
    assert input_specs("x") == []


def test_a_path_that_lacks_a_value() -> None:
    """F-MANY-8: every variable without one is named, and an optional input is none of them."""
    given = variables(Inputs([InputSpec("may", need="optional")], None))
    assert given.required("~/x${input:may}", "cwd") == "/h/x"
    with pytest.raises(EntryError, match=r"\$\{X\}, \$\{Y\} has no value"):
        given.required("${X}/${Y}", "cwd")
