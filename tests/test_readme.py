"""F-PACK-4: the README is true. Its examples run here, and print the output shown.

A comment before a block says how it is tested, see `tests.support.prose`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import mcpclient
from conformance import demo
from mcpclient.cli.commands import COMMANDS
from tests.support.prose import blocks_of, check_fragment, programs_of, run, sessions_of
from tests.support.subprocesses import TOP

README = (TOP / "README.md").read_text("utf-8")

_NAME = re.compile(r"`(\w+)/?`").findall

BLOCKS = blocks_of(README)
PROGRAMS = programs_of(BLOCKS)
SESSIONS = sessions_of(BLOCKS)
FRAGMENTS = [block.text for block in BLOCKS if block[:2] == ("compiles", "python")]


def test_every_block_says_how_it_is_tested() -> None:
    unmarked = [text for mark, kind, text in BLOCKS if mark is None and kind != "sh"]
    assert not unmarked
    assert len(PROGRAMS) == sum(mark == "prints" for mark, _, _ in BLOCKS) > 0
    assert SESSIONS
    assert FRAGMENTS


def test_the_first_program_runs_after_an_installation() -> None:
    """F-PACK-4: it is a whole program, and its server comes with the package."""
    shell, program, output = BLOCKS[:3]
    assert shell.text == "pip install .\n"
    assert (program.mark, output.mark) == ("runs", "prints")
    assert "mcpclient.testing.demo_server" in program.text
    assert "installs the library and the command `mcpclient`" in " ".join(README.split())
    assert "only after you have agreed to each of them" in " ".join(README.split())


def test_the_demo_is_a_session_that_needs_nothing_but_python() -> None:
    """F-PACK-4: and the second command is the tests."""
    made = next(block.text for block in BLOCKS if block.text.startswith("make "))
    assert re.findall(r"(?m)^make (\S+)", made) == ["demo", "test"]
    makefile = (TOP / "Makefile").read_text("utf-8")
    assert re.search(r"(?m)^demo:.*\n\t\$\(PYTHON\) -m conformance\.demo$", makefile)
    assert re.search(r"(?m)^test: \$\(stamp\).*\n\t\$\(python\) -m pytest ", makefile)
    assert re.search(r"(?m)^\$\(stamp\): tests/requirements.txt$", makefile)
    printed = run([sys.executable, "-S", "-W", "error", "-m", "conformance.demo"])
    assert re.findall(r"(?m)^Revision ([\d-]+), ", printed) == list(demo.ERAS)
    assert printed.count("or as structured content {'sum': 42}") == len(demo.ERAS) == 2


@pytest.mark.quick_rows(1)
@pytest.mark.parametrize(("program", "output"), PROGRAMS, ids=range(len(PROGRAMS)))
def test_a_program_prints_what_the_readme_says(program: str, output: str) -> None:
    """F-PACK-4"""
    assert run([sys.executable, "-W", "error", "-c", program]) == output


@pytest.mark.parametrize(("words", "output"), SESSIONS, ids=range(len(SESSIONS)))
def test_a_command_prints_what_the_readme_says(words: list[str], output: str) -> None:
    """F-PACK-4, F-SHOW-1"""
    assert run(words) == output


@pytest.mark.parametrize("fragment", FRAGMENTS, ids=range(len(FRAGMENTS)))
def test_a_fragment_names_options_that_exist(fragment: str) -> None:
    check_fragment(fragment)


def test_the_errors_in_the_table_exist() -> None:
    rows = re.findall(r"^\| (?:- )*`(\w+)` \|.*\|$", README, re.M)
    errors = [getattr(mcpclient, name) for name in rows if name[0].isupper()]
    assert len(errors) > 10
    assert all(issubclass(error, mcpclient.McpError) for error in errors)


def test_the_floors_are_the_folders() -> None:
    """The table names the folders there are, and every command is named."""
    package = Path(mcpclient.__file__).parent
    named = {floor for row in re.findall(r"^\| (`.*?`) \|", README, re.M) for floor in _NAME(row)}
    folders = {each.parent.name for each in package.glob("[!_]*/__init__.py")}
    assert folders - named == set()
    floors = re.findall(r"^\| `(\w+)/` \|", README, re.M)
    assert set(floors) <= folders
    assert [name for name in COMMANDS if not re.search(rf"(mcpclient |`){name}\b", README)] == []


def test_every_target_of_make_exists() -> None:
    targets = re.findall(r"\bmake ([a-z][a-z-]+)`? ", README)
    makefile = (TOP / "Makefile").read_text("utf-8")
    assert targets
    assert all(re.search(rf"^{target}:", makefile, re.M) for target in targets)
