"""``mcpclient help``: F-SHOW-11."""

from __future__ import annotations

import argparse
import io

import pytest

from mcpclient.cli.command import Answer, LocalCommand
from mcpclient.cli.commands import command_named
from mcpclient.cli.help import CHAPTERS, chapter, laid_out
from mcpclient.cli.screen import Screen
from tests.support.tables import each_row

# help


def shown(*words: str, out: io.StringIO | None = None) -> str:
    command = command_named("help")
    assert isinstance(command, LocalCommand)
    screen = Screen(out or io.StringIO(), io.StringIO(), {})
    answer = command.function(screen, argparse.Namespace(words=list(words)))
    assert isinstance(answer, Answer)
    return answer.text


@each_row("name", CHAPTERS)
def test_a_chapter_is_shown_without_its_marks(name: str) -> None:
    """F-SHOW-11"""
    text = shown(name)
    assert text.startswith("# ")
    assert "<!--" not in text


TEXT = """\
# A heading

Some prose that goes on over
two lines of the source.
- an item that is so long that it has to be wrapped
- another

| option | means |
|---|---|
| `a` | the first letter of the alphabet | it has no `\\|` |
| `a-very-long-option-indeed` | something | |

    code that is indented, and longer than the width
```sh
code in a fence, which is longer than the width as well
```
"""


def test_prose_is_filled_and_code_is_not() -> None:
    assert laid_out(TEXT, 37).splitlines() == [
        "# A heading",
        "",
        "Some prose that goes on over two",
        "lines of the source.",
        "- an item that is so long that it",
        "  has to be wrapped",
        "- another",
        "",
        "`a`           the first letter of",
        "              the alphabet. it has",
        "              no `|`",
        "`a-very-long-option-indeed`",
        "              something",
        "",
        "    code that is indented, and longer than the width",
        "```sh",
        "code in a fence, which is longer than the width as well",
        "```",
    ]


@pytest.mark.quick_rows(20)
@pytest.mark.parametrize("columns", [30, 80, 300])
@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_says_the_same_in_any_width(name: str, columns: int) -> None:
    """F-SHOW-3: no line of prose is wider, unless it is one word; all that is prose is there."""
    text = chapter(name)
    shown = laid_out(text, columns)
    is_code = False
    for line in shown.splitlines():
        is_code ^= line.startswith("```")
        if not is_code and not line.startswith(("    ", "#", "<!--", "```")):
            assert len(line) < columns or " " not in line.strip(" -"), line
    prose = [line for line in text.splitlines() if not line.startswith("|")]
    if columns > 30:  # else long words are broken
        assert {word for line in prose for word in line.split()} <= set(shown.split())
