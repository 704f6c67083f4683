"""The completions of an unfinished line."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.cli.shell.commands import Session
from mcpclient.cli.shell.words import candidates, fitting, parse_line, typing_at
from mcpclient.protocol.types import CallToolResult, Prompt, Tool
from tests.cli.shell.in_shell import in_shell
from tests.support.tables import each_row

PAINT = Tool(
    {
        "name": "paint",
        "description": "Paint\na wall",
        "inputSchema": {
            "properties": {
                "wet": {"type": ["boolean", "null"]},
                "colour": {"enum": ["red", "dark green", 5], "description": "Which"},
                "level": {"anyOf": [{"const": "low"}, {"enum": ["high"]}, {"type": "boolean"}]},
                "tags": {"type": "array", "items": {"enum": ["a"]}, "default": []},
            },
            "required": ["colour"],
        },
    }
)
HAIKU = Prompt({"name": "haiku", "arguments": [{"name": "topic"}, {"name": "mood"}]})


def session(**servers: list[Tool]) -> Session:
    """A session with these tools of its servers; the first of them is in use."""
    manager: Any = SimpleNamespace(tools=[], servers={})
    for name, tools in servers.items():
        listed = [
            SimpleNamespace(raw_name=each.name, input_schema=each.input_schema) for each in tools
        ]
        manager.servers[name] = SimpleNamespace(tools=listed)
    none: Any = None
    return Session(manager, none)


COMMANDS = ["tools", "tool", "use"]
KNOWN = session(home=[PAINT], **{"far away": []})
KNOWN.prompts["home"] = {"haiku": HAIKU}
KNOWN.resources["home"] = ["demo://readme"]
KNOWN.result = CallToolResult({"structuredContent": {"sum": 1}})
RUNNING: Any = SimpleNamespace(number=3, state="running")
KNOWN.jobs[3] = RUNNING


def fits(line: str, known: Session = KNOWN) -> list[str]:
    return candidates(typing_at(line, len(line)), known, COMMANDS)


def texts(line: str) -> list[str]:
    return [each[:-1] if each.endswith(" ") else each for each in fits(line)]


@each_row(
    ("line", "expected"),
    [
        ("pa", ["paint"]),
        ("too", ["tools", "tool"]),
        ("ho", ["home."]),
        ("home.", ["home.paint"]),
        ("nothing", []),
        ("paint ", ["colour=", "wet=", "level=", "tags="]),
        ("paint colour=red ", ["wet=", "level=", "tags="]),
        ("home.paint co", ["colour="]),
        ("call pa", ["paint"]),
        ("call paint we", ["wet="]),
        ("paint wet=", ["wet=true", "wet=false"]),
        ("paint wet:=t", ["wet:=true"]),
        ("paint colour:=", ['colour:="red"', 'colour:="dark green"', "colour:=5"]),
        ("paint colour=", ["colour=red", '"colour=dark green"', "colour=5"]),
        ("paint colour='d", ['"colour=dark green"']),
        ("paint level=", ["level=low", "level=high", "level=true", "level=false"]),
        ("paint tags=", ['tags=["a"]', "tags=[]"]),
        ("paint other=", []),
        ("tool ", ["paint"]),
        ("use ", ["home", '"far away"']),
        ("prompt ", ["haiku"]),
        ("prompt haiku topic=x ", ["mood="]),
        ("prompt other ", []),
        ("read ", ["demo://readme"]),
        ("cancel ", ["3"]),
        ("wait ", ["3"]),
        ("help us", ["use"]),
        ("expect st", ["structured"]),
        ("_.str", ["_.structured"]),
        ("_.structured.", ["_.structured.sum"]),
        ("_.nothing.", []),
        ("_", ["_"]),
        ("use home ", []),
    ],
)
def test_candidates(line: str, expected: list[str]) -> None:
    """F-SHOW-5: commands, servers, tools, arguments and their values."""
    assert texts(line) == expected


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-SHOW-5: after @; a folder goes on."""
    monkeypatch.chdir(tmp_path)
    for name in ("one.json", "on two", "[x]"):
        (tmp_path / name).write_text("")
    (tmp_path / "once").mkdir()
    assert texts("paint colour=@o") == [
        '"colour=@on two"',
        f"colour=@once{os.sep}",
        "colour=@one.json",
    ]
    assert texts("paint @one") == ["@one.json"]
    assert texts("paint @[") == ["@[x]"]


def test_schemas_that_are_none() -> None:
    """F-SHOW-5"""
    known = session(one=[Tool({"name": "odd", "inputSchema": {"properties": {"a": 5}}})])
    assert fits("odd ", known) == ["a="]
    assert fits("odd a=", known) == []
    assert fits("odd ", session(one=[Tool({"name": "odd", "inputSchema": True})])) == []
    assert fits("_.x", session()) == []


@given(st.text(alphabet="paint colour=@>|_.[]'\"&#\\", max_size=30), st.integers(0, 40))
def test_no_line_crashes_completion(line: str, cursor: int) -> None:
    """F-SHOW-5"""
    candidates(typing_at(line, cursor), KNOWN, COMMANDS)


async def test_the_server_is_asked() -> None:
    """F-SHOW-5, F-API-5: for the arguments of prompts, with the values of the others."""
    async with in_shell() as world:

        async def suggested(line: str) -> list[str]:
            return [each.rstrip() for each in await world.shell.suggest(line, len(line))]

        assert world.shell.complete("prompt ", 7) == []
        assert await suggested("prompt ha") == ["haiku"]
        assert await suggested("prompt haiku mood=ch") == ["mood=cheerful"]
        assert await suggested("read demo://r") == ["demo://readme"]
        assert await suggested("count to=5 sec") == ["seconds="]


async def test_an_editor_in_another_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-SHOW-5: gets words to put in behind the last space."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my notes").touch()

    async with in_shell() as world:
        loop = asyncio.get_running_loop()
        complete = world.shell._editing(loop)

        async def words(line: str) -> list[str]:
            return await loop.run_in_executor(None, complete, line, len(line))

        assert await words("cou") == ["count "]
        assert await words("count t") == ["to="]
        assert await words("prompt haiku mood=") == ["mood=calm ", "mood=cheerful ", "mood=gloomy "]
        assert await words("echo '@my n") == ['notes" ']


async def test_a_server_that_has_no_prompts() -> None:
    """F-SHOW-5: does not disturb the user."""
    async with in_shell(answers={"prompts/list": {"code": -32603, "message": "broken"}}) as world:
        assert await world.shell.suggest("prompt h", 8) == []


HOSTILE = [
    *("a | sh -c evil", "a > file", "a & b", '"; | sh', "a#b", "a'b", "x\\ | sh", "| sh", ">x"),
    "&",
    *("[1] | sh", "{} | sh", "a:=[1] | sh", " | sh"),
]


@each_row("name", HOSTILE)
def test_a_name_that_is_completed_is_one_word_of_the_line(name: str) -> None:
    """F-SAFE-6: no tool, parameter, value or server makes a line that writes a file."""
    tool = Tool({"name": name, "inputSchema": {"properties": {name: {"enum": [name]}}}})
    prompt = Prompt({"name": "p", "arguments": [{"name": name}]})
    known = session(**{name: [tool, Tool({**tool.raw, "name": "t"})]})
    known.prompts[name] = {"p": prompt}
    found = candidates(typing_at("", 0), known, ())
    for line in ("t ", "prompt p ", "use ", "tool "):
        found += fits(line, known)
    found += fitting([f"x={name} "], "x=")
    assert len(found) >= 7
    for each in found:
        is_closed = each.endswith(" ") or not each.startswith('"')
        closed = each if is_closed else f'{each}"'
        words, in_background = parse_line(f"t {closed}")
        assert (len(words), in_background) == (2, False)
        assert each == "t " or name in words[1].text


async def test_a_name_from_a_server_is_never_an_option() -> None:
    """F-SAFE-6: TAB puts it in quotes, and in quotes it is the name of a prompt or a tool."""
    name = "--unchecked"
    answers: dict[str, Any] = {
        "prompts/list": {"prompts": [{"name": "--trace=F"}]},
        "prompts/get": {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}]},
        "tools/list": {"tools": [{"name": name, "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": "called"}]},
    }
    async with in_shell(answers=answers) as world:
        await world.run("prompts", "tools")
        assert world.shell.complete("prompt ", 7) == ['"--trace=F" ']
        assert world.shell.complete("call ", 5) == [f'"{name}" ']
        assert await world.run('prompt "--trace=F"', f'call "{name}"') == ["user: hi", "called"]
        assert "prompt needs PROMPT" in (await world.fail("prompt --trace=F"))[1]
