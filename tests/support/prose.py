"""The code in prose: the blocks of a Markdown text, and how a comment before each has it tested.

- ``<!-- runs -->``: a program, followed by ``<!-- prints -->`` and its output; or a console session
- ``<!-- steps -->``: the same, run in one folder after the steps before it
- ``<!-- compiles -->``: a fragment, of which the syntax and the options it names are checked
- ``<!-- fragment -->``: a fragment, of which the syntax and the names of the library are checked
- ``<!-- loop -->``: an agent loop, run by the tests of the adapters
- ``<!-- recipe -->``: an agent of a framework, run by `conformance.hosts.agents`
- ``<!-- foreign -->``: code for another library
"""

from __future__ import annotations

import ast
import inspect
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import mcpclient
from mcpclient.adapters.toolbox import ToolboxOptions
from tests.support.subprocesses import TOP

_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>\w+) -->\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.M | re.S
)


class Block(NamedTuple):
    """A block of code, and the mark before it, if any."""

    mark: str | None
    kind: str
    text: str


def blocks_of(markdown: str) -> list[Block]:
    """Return the blocks of a page, in order."""
    return [
        Block(found["mark"], found["kind"], found["text"]) for found in _BLOCK.finditer(markdown)
    ]


def programs_of(blocks: list[Block], mark: str = "runs") -> list[tuple[str, str]]:
    """Return the programs, each with its documented output."""
    return [
        (block.text, following.text)
        for block, following in zip(blocks, blocks[1:])
        if block[:2] == (mark, "python")
    ]


def sessions_of(blocks: list[Block], mark: str = "runs") -> list[tuple[list[str], str]]:
    """Return the commands of console sessions, each with its documented output."""
    entries = [
        entry.partition("\n")
        for block in blocks
        if block[:2] == (mark, "console")
        for entry in re.split(r"^\$ ", block.text.replace("\\\n", ""), flags=re.M)[1:]
    ]
    programs = {"python3": [sys.executable], "mcpclient": [sys.executable, "-m", "mcpclient"]}
    return [
        ([part for word in shlex.split(command) for part in programs.get(word, [word])], output)
        for command, _, output in entries
    ]


def run(command: list[str], folder: Path = TOP) -> str:
    """Run a command at the top of the repository, and return its output."""
    finished = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert (finished.returncode, finished.stderr) == (0, "")
    return finished.stdout


def check_fragment(fragment: str) -> None:
    """Every function of the library that it calls is there, with every option it gives."""
    calls = [node for node in ast.walk(_parsed(fragment)) if isinstance(node, ast.Call)]
    known = 0
    for call in calls:
        home, _, name = ast.unparse(call.func).rpartition(".")
        owner = {
            "mcpclient": mcpclient,
            "client": mcpclient.Client,
            "manager": mcpclient.Manager,
        }.get(home)
        if owner is not None:
            named = {keyword.arg for keyword in call.keywords}
            parameters = inspect.signature(getattr(owner, name)).parameters.values()
            known_names = {each.name for each in parameters}
            if any(each.kind is each.VAR_KEYWORD for each in parameters):
                known_names |= set(mcpclient.ClientOptions.__annotations__)
                known_names |= set(ToolboxOptions.__annotations__)
            assert named <= known_names, (name, named - known_names)
            known += 1
    assert known


def check_names(fragment: str) -> None:
    """Every name of the library in it exists."""
    for node in ast.walk(_parsed(fragment)):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "mcpclient":
            assert hasattr(mcpclient, node.attr), node.attr


def _parsed(fragment: str) -> ast.Module:
    """Parse a fragment as the body of a coroutine, in which it may wait."""
    return ast.parse("async def fragment():\n" + textwrap.indent(fragment, "    "))
