"""The front matter of a skill, and the values in quotes and brackets inside it."""

from __future__ import annotations

from mcpclient.formats.front_matter import (
    FlowReader,
    FrontMatterError,
    parse_front_matter,
    same_content,
    split_front_matter,
)

from ..inputs import text_of


def target(data: bytes) -> None:
    text = text_of(data)
    try:
        matter, rest = split_front_matter(text)
    except FrontMatterError:
        matter, rest = text, ""
    assert matter in text and text.endswith(rest)
    for parse in (parse_front_matter, lambda text: FlowReader(text).value()):
        try:
            value = parse(matter)
        except FrontMatterError as error:
            assert str(error)
        else:
            assert same_content(value, value)
