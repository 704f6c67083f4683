"""The lines that the page copies, pasted into the shells of this machine."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mcpclient.cli.arguments import Typed, parse_arguments, typed_value
from mcpclient.inspector.report import bundle

URL = {"copied": {"url": ["https://h.example/mcp"]}}
TOOL = "tools/call"

pytestmark = pytest.mark.needs_posix

# Names of tools, of resources and of arguments, as a server may choose them.
HOSTILE = [
    *("$(touch evil)", "`touch evil`", "a;touch evil", "a'$(touch evil)'", "a\ntouch evil\n"),
    *("a\rtouch evil\r", "\x15touch evil\r", "\x1b[201~touch evil\r", "a\x03touch evil\r", "a!b"),
    *("a\x7f\x08b", "\u202eab", "a\u2028b", "ü\\'\"\n'", "=ls", "~root", "*", "{a,b}", "a b\tc"),
    "",
    *("#x", "%1", "&", "x\x1b]0;evil\x07", "\\\n", "$'\\n'"),
]


def copied(
    form: str,
    state: dict[str, Any],
    method: str,
    params: dict[str, Any],
    package: str = "mcpclient",
) -> str:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on PATH")
    # Outside of a browser there is no document with the name of the package.
    document = f'const document = {{ documentElement: {{ dataset: {{ package: "{package}" }} }} }};'
    call = f"{form}({json.dumps(state)}, {json.dumps(method)}, {json.dumps(params)})"
    source = f"{document}\n{bundle('snippets', 'js')}\nprocess.stdout.write({call});"
    run = subprocess.run([node, "-"], input=source, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    return run.stdout


def given(shell: str, text: str, folder: Path, **variables: str) -> list[str]:
    """Return the words that the command gets when the text is run."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    function = 'mcpclient() { printf "%s\\0" "$@" > given; }\n'
    flags = ["--norc"] if shell == "bash" else ["-f"]
    subprocess.run(
        [program, *flags, "-c", function + text],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", **variables},
        timeout=60,
        check=False,
        capture_output=True,
    )
    assert not (folder / "evil").exists()
    return (folder / "given").read_bytes().decode().split("\0")[:-1]


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_copied_command_says_exactly_what_was_called(shell: str, tmp_path: Path) -> None:
    """F-SAFE-6, F-SHOW-10: nothing in a name or an argument is run or interpreted."""
    for name in [*HOSTILE, " 5", "@file", "true"]:
        arguments = {"a": name, "b": 1, "c": f"x{name}"}
        params = {"name": name, "arguments": arguments}
        text = copied("asCommandLine", URL, TOOL, params)
        # A terminal takes it as it is typed: nothing in it is a key that does something.
        assert text.isprintable(), name
        command, url, tool, *words = given(shell, text, tmp_path)
        assert (command, url, tool) == ("call", "https://h.example/mcp", name)
        assert words[1] == "b:=1"
        assert words[2] == f"c=x{name}"
        typed = parse_arguments(words[:1])["a"]
        for schema in (None, {"type": "string"}):  # with the tool's schema at hand or without
            value = typed_value("a", typed, schema, {}) if isinstance(typed, Typed) else typed
            assert value == name
        python = ast.parse(copied("asPython", URL, TOOL, params))
        calls = [node for node in ast.walk(python) if isinstance(node, ast.Call)]
        (call,) = [node for node in calls if ast.unparse(node.func) == "client.call_tool"]
        assert [ast.literal_eval(part) for part in call.args] == [name, arguments]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "start"),
    [
        ("asPython", "import asyncio\n\nimport host.vendored as mcpclient\n\n\n"),
        ("asCommandLine", "python3 -m host.vendored call https://h.example/mcp echo"),
    ],
)
def test_what_is_copied_names_the_package_as_it_is_called_here(form: str, start: str) -> None:
    """F-PACK-2, F-SHOW-10: whoever has the folder in a package of their own can run it too."""
    text = copied(form, URL, TOOL, {"name": "echo"}, package="host.vendored")
    assert text.startswith(start)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["--model=sh", "-x", "--", "-", "a\0b"])
@pytest.mark.parametrize(
    ("method", "key"), [(TOOL, "name"), ("prompts/get", "name"), ("resources/read", "uri")]
)
def test_a_name_that_would_be_an_option_is_not_copied(method: str, key: str, name: str) -> None:
    """F-SAFE-6: ``--model=sh`` made a pasted line run a command of the server."""
    text = copied("asCommandLine", URL, method, {key: name})
    assert text == "# no command line can say this name; copy it as Python\n"


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_names_of_variables_and_headers_are_not_run(shell: str, tmp_path: Path) -> None:
    """F-SAFE-6: a file chooses them."""
    names = ["A$(touch evil)", "--model=sh", "9", "api_key", "a b"]
    state = {
        "copied": {"command": [["x"], ["$(touch evil)"]], "cwd": "--model=sh"},
        "env": names,
        "headers": [],
    }
    text = copied("asCommandLine", state, "ping", {})
    variables = {"A_TOUCH_EVIL_": "1", "_MODEL_SH": "2", "VALUE_9": "3", "api_key": "4", "A_B": "5"}
    assert given(shell, text, tmp_path, **variables) == [
        "ping",
        *(f"--env={name}={number}" for number, name in enumerate(names, 1)),
        "--cwd=--model=sh",
        *("--", "x", "$(touch evil)"),
    ]
    compile(copied("asPython", state, TOOL, {"name": "a\n'\"\\"}), "copied", "exec")
    curl = copied("asCurl", {**URL, "headers": names}, TOOL, {"name": "$(touch evil)"})
    subprocess.run(["bash", "-nc", curl], check=True, timeout=60)
    assert 'A$(touch evil): \'"$A_TOUCH_EVIL_"' in curl
