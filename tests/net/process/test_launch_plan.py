"""The environment of a server and the Windows launch plan: pure, so tested on every platform."""

from __future__ import annotations

import ntpath
import re
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.errors import CommandNotFound, UsageError
from mcpclient.net.process.launch import LaunchPlan, child_environment, windows_launch_plan
from tests.support.properties import examples
from tests.support.tables import each_row


def test_safe_on_windows_ignores_the_case_of_names() -> None:
    """F-STD-1"""
    parent = {"SystemRoot": "C:\\Windows", "Path": "C:\\bin", "ComSpec": "cmd", "GH_TOKEN": "x"}
    inherited = child_environment(None, "safe", parent, windows=True)
    assert inherited == {"SystemRoot": "C:\\Windows", "Path": "C:\\bin", "ComSpec": "cmd"}


def test_on_windows_a_name_in_another_case_is_the_same_variable() -> None:
    """F-STD-1"""
    merged = child_environment({"PATH": "C:\\new"}, "all", {"Path": "C:\\old"}, windows=True)
    assert merged == {"PATH": "C:\\new"}
    kept = child_environment({"PATH": "/new"}, "all", {"Path": "/old"}, windows=False)
    assert kept == {"PATH": "/new", "Path": "/old"}


@each_row(
    ("name", "value"),
    [("KEY", 5), ("KEY", None), ("KEY", "hush\0"), ("KEY", b"hush"), ("A=B", "x"), ("", "x")],
)
def test_a_bad_variable_is_named_and_its_value_is_not_shown(name: str, value: object) -> None:
    """F-STD-1"""
    with pytest.raises(UsageError) as raised:
        child_environment({name: value}, "none", {}, windows=False)  # type: ignore[dict-item]
    assert name in str(raised.value) and "hush" not in str(raised.value)


def test_a_name_with_nul_and_an_unknown_mode_are_refused() -> None:
    """F-STD-1"""
    with pytest.raises(UsageError, match="name for an environment variable"):
        child_environment({"A\0": "x"}, "none", {}, windows=False)
    with pytest.raises(UsageError, match="env must map names to values, and not be a list"):
        child_environment(["A=1"], "safe", {}, windows=False)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="inherit_env"):
        child_environment({}, "some", {}, windows=False)


# Windows.

SHELL = "C:\\Windows\\System32\\cmd.exe"
PREFIX = f'"{SHELL}" /d /e:on /v:off /s /c "'
WINDOWS = {
    "Path": 'C:\\Python;"C:\\Program Files\\nodejs";;C:\\Tools',
    "PATHEXT": ".COM;.EXE;.BAT;.CMD;.PY;.JS",
    "ComSpec": SHELL,
}
FILES = {
    "c:\\python\\python.exe",
    "c:\\program files\\nodejs\\node.exe",
    "c:\\program files\\nodejs\\npx",
    "c:\\program files\\nodejs\\npx.cmd",
    "c:\\program files\\nodejs\\npx.ps1",
    "c:\\tools\\server.py",
    "c:\\tools\\both.exe",
    "c:\\tools\\both.bat",
    "c:\\tools\\node.exe",
    "c:\\project\\bin\\local.cmd",
    "c:\\project\\evil.exe",
    "c:\\tools\\100% sure.bat",
    "c:\\tools\\version1.2.exe",
}


def plan(*command: str, env: Mapping[str, str] = WINDOWS) -> LaunchPlan:
    def exists(path: str) -> bool:
        return ntpath.normpath(path).lower().rstrip(". ") in FILES

    return windows_launch_plan(command, env, exists, "C:\\project")


@each_row(
    ("command", "inner"),
    [
        (["npx"], '"C:\\Program Files\\nodejs\\npx.cmd"'),
        (["npx.CMD", "-y"], '"C:\\Program Files\\nodejs\\npx.CMD" "-y"'),
        (["bin\\local"], '"C:\\project\\bin\\local.cmd"'),
        (["C:/project/bin/local"], '"C:/project/bin/local.cmd"'),
        (["both.bat", ""], '"C:\\Tools\\both.bat" ""'),
        (["both.bat", "a&calc"], '"C:\\Tools\\both.bat" "a&calc"'),
        (["both.bat", '"&calc&"'], '"C:\\Tools\\both.bat" """&calc&"""'),
        (["both.bat", "%PATH%"], '"C:\\Tools\\both.bat" "%%cd:~,%PATH%%cd:~,%"'),
        (["both.bat", "c:\\dir\\"], '"C:\\Tools\\both.bat" "c:\\dir\\\\"'),
        (["both.bat", '\\"'], '"C:\\Tools\\both.bat" "\\\\"""'),
        (["both.bat", "^|<>!"], '"C:\\Tools\\both.bat" "^|<>!"'),
        (["both.bat. ."], '"C:\\Tools\\both.bat. ."'),
        (["100% sure"], '"C:\\Tools\\100%%cd:~,% sure.bat"'),
    ],
)
def test_a_batch_file_goes_through_the_command_shell(command: list[str], inner: str) -> None:
    """F-STD-6: every argument quoted, nothing for cmd.exe to interpret."""
    assert plan(*command) == LaunchPlan(SHELL, f'{PREFIX}{inner}"')


def test_the_command_shell_is_found_without_comspec() -> None:
    """F-STD-6"""
    env = {"PATH": "C:\\Tools", "SYSTEMROOT": "D:\\Win"}
    assert plan("both.bat", env=env).executable == "D:\\Win\\System32\\cmd.exe"
    assert plan("both.bat", env={"PATH": "C:\\Tools"}).executable == SHELL


@pytest.mark.parametrize("argument", ["a\nb", "a\rb"])
def test_a_line_break_cannot_be_given_to_a_batch_file(argument: str) -> None:
    """F-STD-6"""
    with pytest.raises(UsageError, match="line break"):
        plan("npx", argument)
    assert argument in plan("node", argument).command_line


@each_row(
    ("name", "reason"),
    [
        ("nothing", "no such command"),
        ("evil", "no such command"),  # the current directory is not searched
        ("C:\\Tools\\nothing", "no such command"),
        ("server", "no such command"),  # PATHEXT may name .PY, but CreateProcess cannot run it
        ("server.py", "cannot run this file by itself"),
        ("C:\\Tools", "no such command"),
        ("C:\\Program Files\\nodejs\\npx.ps1", "cannot run this file by itself"),
    ],
)
def test_not_found_names_the_path_that_was_searched(name: str, reason: str) -> None:
    """F-STD-6 F-STD-7"""
    with pytest.raises(CommandNotFound, match=reason) as raised:
        plan(name)
    assert raised.value.search_path == WINDOWS["Path"]


def test_of_a_script_that_is_missing_no_path_is_told() -> None:
    """F-STD-7: it was looked for where it was said to be."""
    with pytest.raises(CommandNotFound, match="no such file") as raised:
        plan("C:\\Tools\\missing.PY")
    assert raised.value.search_path == ""


def expanded_by_cmd(line: str) -> str:
    """The rest of a command line after the expansion of percent signs by cmd.exe.

    A pair of them without a name stays a single one here, as on cmd's command line; any other name
    than the harmless one would be an injection.
    """
    text, rest = "", line
    while "%" in rest:
        before, _, rest = rest.partition("%")
        text += before
        variable = re.match(r"([^%]+)%", rest)
        if variable and not rest.startswith("%"):
            assert variable.group(1) == "cd:~,", f"expands {variable.group(1)!r}"
            rest = rest[variable.end() :]
        else:
            text += "%"
    return text + rest


def split_by_runtime(line: str) -> list[str]:
    """The arguments the Microsoft C runtime makes of a command line (since 2008)."""
    arguments: list[str] = []
    current, quoted, started, position = "", False, False, 0
    while position < len(line):
        backslashes = len(line) - position - len(line[position:].lstrip("\\"))
        if backslashes:
            position += backslashes
            if line[position : position + 1] == '"':
                current += "\\" * (backslashes // 2)
                assert backslashes % 2 == 0, "cmd.exe would not see this quote as protected"
            else:
                current += "\\" * backslashes
            started = True
            continue
        character = line[position]
        position += 1
        if character == '"':
            started = True
            if quoted and line[position : position + 1] == '"':
                current += '"'
                position += 1
            else:
                quoted = not quoted
        elif character == " " and not quoted:
            if started:
                arguments.append(current)
            current, started = "", False
        else:
            current += character
            started = True
    return [*arguments, current] if started else arguments


@examples(75)
@given(st.lists(st.text(alphabet='ab "%^&|<>!\\()cd:~,é', max_size=12), max_size=4))
def test_no_argument_of_a_batch_file_escapes_or_changes(arguments: list[str]) -> None:
    """F-STD-6: read as cmd.exe reads it and then as the C runtime does, all arrive as given."""
    line = plan("both.bat", *arguments).command_line
    inner = expanded_by_cmd(line[len(PREFIX) : -1])
    outside = "".join(inner.split('"')[::2])
    assert not set(outside) - {" "}, "something stands outside the quotes"
    assert split_by_runtime(inner) == ["C:\\Tools\\both.bat", *arguments]
