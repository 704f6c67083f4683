"""Literal strings, and inputs that are optional, kept, or have several values: F-MANY-18."""

from __future__ import annotations

import os

import pytest

from mcpclient.entries.variables import (
    Inputs,
    InputSpec,
    Variables,
    folders_of,
    input_specs,
    literal,
)


def variables(inputs: Inputs) -> Variables:
    return Variables({"A": "a"}, inputs, folders_of("", "", ""), lambda path: "")


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
