"""What the README shows is true: its examples run here, and print what it says they print.

A comment before a block says how it is tested: ``<!-- runs -->`` (a program, followed by
``<!-- prints -->`` and its output, or a console session) or ``<!-- compiles -->`` (a fragment, of
which the syntax and the options are checked).
"""

from __future__ import annotations

import ast
import inspect
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import mcpclient
from mcpclient.cli.main import COMMANDS
from tests.support.subprocesses import TOP

README = (TOP / "README.md").read_text("utf-8")

_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>\w+) -->\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.M | re.S
)
BLOCKS = [(found["mark"], found["kind"], found["text"]) for found in _BLOCK.finditer(README)]

PROGRAMS = [
    (block[2], following[2])
    for block, following in zip(BLOCKS, BLOCKS[1:])
    if block[:2] == ("runs", "python")
]
FRAGMENTS = [text for mark, kind, text in BLOCKS if (mark, kind) == ("compiles", "python")]
COMMAND_LINES = [
    (entry.partition("\n")[0], entry.partition("\n")[2])
    for mark, kind, text in BLOCKS
    if (mark, kind) == ("runs", "console")
    for entry in re.split(r"^\$ ", text, flags=re.M)[1:]
]


def test_every_block_says_how_it_is_tested() -> None:
    unmarked = [text for mark, kind, text in BLOCKS if mark is None and kind != "sh"]
    assert not unmarked
    assert len(PROGRAMS) == sum(mark == "prints" for mark, _, _ in BLOCKS) > 0
    assert COMMAND_LINES
    assert FRAGMENTS


@pytest.mark.parametrize(("program", "output"), PROGRAMS, ids=range(len(PROGRAMS)))
def test_a_program_prints_what_the_readme_says(program: str, output: str) -> None:
    """F-PACK-4"""
    assert run([sys.executable, "-W", "error", "-c", program]) == output


@pytest.mark.parametrize(("command", "output"), COMMAND_LINES)
def test_a_command_prints_what_the_readme_says(command: str, output: str) -> None:
    """F-PACK-4, F-SHOW-1"""
    words = [sys.executable if word == "python3" else word for word in shlex.split(command)]
    assert run(words) == output


def run(command: list[str]) -> str:
    finished = subprocess.run(
        command, cwd=TOP, capture_output=True, text=True, timeout=60, check=False
    )
    assert (finished.returncode, finished.stderr) == (0, "")
    return finished.stdout


@pytest.mark.parametrize("fragment", FRAGMENTS, ids=range(len(FRAGMENTS)))
def test_a_fragment_names_options_that_exist(fragment: str) -> None:
    """Every function of the library that it calls is there, with every option it gives."""
    calls = [node for node in ast.walk(ast.parse(fragment)) if isinstance(node, ast.Call)]
    known = 0
    for call in calls:
        home, _, name = ast.unparse(call.func).rpartition(".")
        owner = {"mcpclient": mcpclient, "client": mcpclient.Client}.get(home)
        if owner is not None:
            named = {keyword.arg for keyword in call.keywords}
            parameters = inspect.signature(getattr(owner, name)).parameters.values()
            known_names = {each.name for each in parameters}
            if any(each.kind is each.VAR_KEYWORD for each in parameters):
                known_names |= set(mcpclient.ClientOptions.__annotations__)
            assert named <= known_names
            known += 1
    assert known


def test_the_errors_in_the_table_exist() -> None:
    rows = re.findall(r"^\| (?:- )*`(\w+)` \|.*\|$", README, re.M)
    errors = [getattr(mcpclient, name) for name in rows if name[0].isupper()]
    assert len(errors) > 10
    assert all(issubclass(error, mcpclient.McpError) for error in errors)


def test_the_floors_are_the_folders() -> None:
    """Every folder that the table names is there, and every command is named."""
    package = Path(mcpclient.__file__).parent
    floors = re.findall(r"^\| `(\w+)/` \|", README, re.M)
    assert len(floors) > 5
    assert all((package / floor).is_dir() for floor in floors)
    assert all(re.search(rf"(mcpclient |`){name}\b", README) for name in COMMANDS)


def test_every_target_of_make_exists() -> None:
    targets = re.findall(r"\bmake ([a-z][a-z-]+)`? ", README)
    makefile = (TOP / "Makefile").read_text("utf-8")
    assert targets
    assert all(re.search(rf"^{target}:", makefile, re.M) for target in targets)
