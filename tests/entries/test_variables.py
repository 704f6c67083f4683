"""Variables in texts: put in once, and never read again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.entries.variables import Inputs, InputSpec, Variables, references
from mcpclient.errors import UsageError

ENVIRON = {"A": "value", "EMPTY": "", "AGAIN": "${A}", "SPACE": "a b"}
FOLDERS = {"userHome": "/h", "workspaceFolder": "/w", "fileDirname": "/f", "/": "/"}
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
    assert seen[1].choices == ("s", "l")


def test_inputs_that_are_given() -> None:
    found = variables(Inputs(DECLARED, {"token": "t"}))
    assert found.expand("${input:token} ${input:level}").text == "t info"
    assert found.expand("${input:size}").missing == ("${input:size}",)
    with pytest.raises(UsageError, match="'token' must be a string, not int"):
        variables(Inputs(None, {"token": 3})).expand("${input:token}")  # type: ignore[dict-item]


def test_what_a_text_refers_to() -> None:
    assert references("${input:a} $b ${input:c}", "input") == ["a", "c"]
