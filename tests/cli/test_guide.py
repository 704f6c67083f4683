"""The examples in the chapters of the guide are true: F-SHOW-11."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from mcpclient.cli.help import CHAPTERS, chapter
from tests.support.prose import (
    Block,
    blocks_of,
    check_fragment,
    check_names,
    programs_of,
    run,
    sessions_of,
)
from tests.support.subprocesses import TOP
from tests.support.tables import each_row
from tests.tools import guide_files

BLOCKS = {name: blocks_of(chapter(name)) for name in CHAPTERS}
PROGRAMS = [(name, *each) for name, blocks in BLOCKS.items() for each in programs_of(blocks)]
SESSIONS = [(name, *each) for name, blocks in BLOCKS.items() for each in sessions_of(blocks)]


@each_row("name", CHAPTERS)
def test_a_chapter_has_a_heading_and_says_how_its_code_is_tested(name: str) -> None:
    assert chapter(name).startswith("# ")
    marks = {"runs", "prints", "compiles", "fragment", "loop", "recipe", "foreign", "steps"}
    assert not [block for block in BLOCKS[name] if block.kind != "sh" and block.mark not in marks]


@each_row("name", CHAPTERS)
def test_code_fits_a_terminal_of_80_columns(name: str) -> None:
    """F-SHOW-22: `help` shows it as it is, and fits the rest to the terminal."""
    fenced = [line for block in BLOCKS[name] for line in block.text.splitlines()]
    indented = [line for line in chapter(name).splitlines() if line.startswith("    ")]
    assert [line for line in (*fenced, *indented) if len(line) > 80] == []


@pytest.mark.slow
@each_row(("name", "program", "output"), PROGRAMS)
def test_a_program_prints_what_the_guide_says(name: str, program: str, output: str) -> None:
    """F-SHOW-11"""
    assert run([sys.executable, "-W", "error", "-c", program]) == output


@pytest.mark.slow
@pytest.mark.parametrize(("name", "words", "output"), SESSIONS, ids=range(len(SESSIONS)))
def test_a_command_prints_what_the_guide_says(name: str, words: list[str], output: str) -> None:
    """F-SHOW-11"""
    assert run(words) == output


@each_row("name", CHAPTERS)
def test_a_fragment_names_what_exists(name: str) -> None:
    """F-SHOW-11"""
    for mark, _, text in BLOCKS[name]:
        if mark in ("compiles", "fragment"):
            check_names(text)
        if mark == "compiles":
            check_fragment(text)


@pytest.mark.slow
@pytest.mark.needs_posix
def test_the_first_page_works_step_by_step(nothing_configured: Path) -> None:
    """F-SHOW-11: as a newcomer types it, in a folder of their own."""
    (nothing_configured / "mcpclient").symlink_to(TOP / "mcpclient")
    before: list[Block] = []
    for block in BLOCKS["ten-minutes"]:
        steps: list[tuple[list[str], str]] = sessions_of([block], "steps")
        for program, output in programs_of([*before[-1:], block], "steps"):
            steps.append(([sys.executable, "-W", "error", "-c", program], output))
        for words, output in steps:
            assert run(words, nothing_configured) == output
        before.append(block)


LINK = re.compile(r"\[[^]]+\]\((?!https?:)([^)#]+)\)")


@each_row("name", [*CHAPTERS, "README"])
def test_links_lead_to_chapters(name: str) -> None:
    """F-SHOW-11: each chapter has some, and the contents have all."""
    folder = Path(guide_files.FOLDER)
    text = re.sub(r"(?ms)^```.*?^```$|`[^`]*`", "", (folder / f"{name}.md").read_text())
    links = LINK.findall(text)
    assert links
    assert all((folder / link).is_file() for link in links)
    if name == "README":
        assert links == [f"{each}.md" for each in CHAPTERS]


def test_files_that_are_made_are_up_to_date() -> None:
    """F-SHOW-11: run python -m tests.tools.guide_files where this fails."""
    for path, text in guide_files.made().items():
        assert path.read_text() == text, path


def test_the_readme_links_every_chapter() -> None:
    """F-SHOW-11"""
    links = LINK.findall((TOP / "README.md").read_text())
    assert {f"mcpclient/cli/guide/{each}.md" for each in CHAPTERS} <= {*links}
