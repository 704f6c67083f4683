"""What the chapters of the guide show is true: F-SHOW-11."""

from __future__ import annotations

import sys

import pytest

from mcpclient.cli.help import CHAPTERS, chapter
from tests.support.prose import (
    blocks_of,
    check_fragment,
    check_names,
    programs_of,
    run,
    sessions_of,
)

BLOCKS = {name: blocks_of(chapter(name)) for name in CHAPTERS}
PROGRAMS = [(name, *each) for name, blocks in BLOCKS.items() for each in programs_of(blocks)]
SESSIONS = [(name, *each) for name, blocks in BLOCKS.items() for each in sessions_of(blocks)]
FRAGMENTS = [
    (name, block)
    for name, blocks in BLOCKS.items()
    for block in blocks
    if block.mark in ("compiles", "fragment")
]


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_has_a_heading_and_says_how_its_code_is_tested(name: str) -> None:
    assert chapter(name).startswith("# ")
    marks = {"runs", "prints", "compiles", "fragment", "loop", "recipe", "foreign"}
    assert not [block for block in BLOCKS[name] if block.kind != "sh" and block.mark not in marks]


@pytest.mark.parametrize(("name", "program", "output"), PROGRAMS, ids=lambda value: value[:20])
def test_a_program_prints_what_the_guide_says(name: str, program: str, output: str) -> None:
    """F-SHOW-11"""
    assert run([sys.executable, "-W", "error", "-c", program]) == output


@pytest.mark.parametrize(("name", "words", "output"), SESSIONS, ids=range(len(SESSIONS)))
def test_a_command_prints_what_the_guide_says(name: str, words: list[str], output: str) -> None:
    """F-SHOW-11"""
    assert run(words) == output


@pytest.mark.parametrize(("name", "block"), FRAGMENTS, ids=range(len(FRAGMENTS)))
def test_a_fragment_names_what_exists(name: str, block: tuple[str, str, str]) -> None:
    """F-SHOW-11"""
    mark, _, text = block
    check_names(text)
    if mark == "compiles":
        check_fragment(text)
