"""The input of an adversary, as hypothesis strategies that several test files share."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st

texts = st.text(st.characters(exclude_categories=()), max_size=20)
"""Any text, lone surrogates included, which JSON can carry and UTF-8 cannot."""

clean_texts = st.text(st.characters(codec="utf-8"), max_size=20)
"""Any text that UTF-8 can carry."""

tokens = st.text("!#$%&'*+-.^_`|~09azAZ", min_size=1, max_size=8)
"""The names of header fields, and what else HTTP calls a token."""

_PRINTABLE_LATIN = "".join(filter(str.isprintable, map(chr, range(256))))
field_values = st.text(_PRINTABLE_LATIN, max_size=20).map(str.strip)
"""Values of header fields that may be written."""

_clean_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | clean_texts
)


def _nested(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.lists(inner, max_size=3) | st.dictionaries(clean_texts, inner, max_size=3)


json_values = st.recursive(_clean_scalars, _nested, max_leaves=8)
"""JSON values that survive every round trip."""

json_objects = st.dictionaries(clean_texts, json_values, max_size=4)
"""The same, as objects."""

_hostile_scalars = (
    _clean_scalars
    | texts
    | st.sampled_from(
        [
            float("nan"),
            float("inf"),
            float("-inf"),
            10**400,
            -(2**63),
            1e308,
            "\0",
            "http://[",
            "NaN",
        ]
    )
)


def hostile_json(names: Iterable[str]) -> st.SearchStrategy[object]:
    """Any JSON value that a parser may give; most members have one of these names."""
    keys = st.sampled_from(sorted(names)) | st.text(max_size=3)
    return st.recursive(
        _hostile_scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
        max_leaves=10,
    )
