"""Schemas and values made at random: the list of exceptions is closed."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from mcpclient.protocol.schema import SchemaError, SchemaLimits, compile_schema
from mcpclient.protocol.schema.dialects import DIALECTS, DRAFT_07, DRAFT_2020_12

KEYWORDS = sorted(DRAFT_2020_12.keywords | DRAFT_07.keywords | {"then", "else", "$defs", "a"})
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.floats(),
    st.sampled_from(
        ["", "a", "#", "#/$defs/a", "#a", "string", "array", "object", "(a|b)*", "uri"]
    ),
    st.sampled_from(sorted(DIALECTS)),
)


def nest(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=4),
    )


JSON = st.recursive(SCALARS, nest, max_leaves=12)


@settings(max_examples=400, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYWORDS), JSON, max_size=4), JSON)
def test_anything_is_compiled_or_refused(schema: dict[str, object], value: object) -> None:
    """F-API-17: a hostile schema raises `SchemaError` or nothing, and its use raises nothing."""
    try:
        compiled = compile_schema(
            schema, limits=SchemaLimits(validation_steps=10_000), assert_formats=True
        )
    except SchemaError:
        return
    for violation in compiled.validate(value):
        assert str(violation).startswith("at ")
