"""Arguments as they are typed: what is written as JSON arrives, what is text stays text."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mcpclient.cli.arguments import parse_arguments as parse_untyped
from mcpclient.cli.arguments import parse_text_arguments, unchecked_arguments
from tests.support.properties import examples
from tests.support.strategies import clean_texts, json_objects, json_values, texts
from tests.tools.fuzz.targets import arguments

keys = st.text("ab-_.é", min_size=1, max_size=5).filter(lambda key: key != "-")


def parse_arguments(words: list[str]) -> dict[str, Any]:
    """The arguments of a tool whose schema is not known."""
    return unchecked_arguments(parse_untyped(words))


@examples(30)
@given(st.dictionaries(keys, json_values, max_size=3), json_objects)
def test_json_arrives_as_it_was_typed(pairs: dict[str, Any], whole: dict[str, Any]) -> None:
    """F-SHOW-2: ``key:=json``, and all arguments in one object."""
    assert parse_arguments([f"{key}:={json.dumps(value)}" for key, value in pairs.items()]) == pairs
    assert parse_arguments([json.dumps(whole)]) == whole


@examples(30)
@given(keys, clean_texts.filter(lambda text: not text.startswith("@")))
def test_text_stays_text(key: str, text: str) -> None:
    """F-SHOW-2: for a prompt always, for a tool unless it is another kind of JSON value."""
    assert parse_text_arguments([f"{key}={text}"]) == {key: text}
    found = parse_arguments([f"{key}={text}"])[key]
    assert found == text or json.loads(text) == found


@examples(60)
@given(st.lists(texts | st.sampled_from(["a=1", "a:=", "=", "b={", "{}", "c=[[", "d=NaN"])))
def test_any_words_are_arguments_or_refused(words: list[str]) -> None:
    """F-SHOW-2"""
    arguments.target("\n".join(words).encode("utf-8", "surrogatepass"))
