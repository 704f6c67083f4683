"""Names with what they mean: F-SHOW-3."""

from __future__ import annotations

from mcpclient.cli.render import definitions


def test_names_with_what_they_mean_are_filled_and_never_cut() -> None:
    """F-SHOW-3: at any width; wide characters count twice."""
    rows = [
        ("a", "short"),
        ("名前", "words that do not fit beside it"),
        ("a long name", ""),
        ("b c", "x"),
    ]
    assert definitions(rows, None).splitlines()[0] == "a            short"
    assert definitions(rows, 24).splitlines() == [
        "a         short",
        "名前      words that do",
        "          not fit beside",
        "          it",
        "a long name",
        "b c       x",
    ]
    assert definitions([], 24) == ""
