"""F-SHOW-14, F-SHOW-16: functions of the page: differences, and the text of JSON."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import pytest

from mcpclient.inspector.report import bundle


def run(function: str, *arguments: Any, module: str = "differences") -> Any:
    """Return the result of a function of the page."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on PATH")
    call = f"{function}(...{json.dumps(arguments)})"
    source = f"{bundle(module, 'js')}\nprocess.stdout.write(JSON.stringify({call}));"
    found = subprocess.run([node, "-"], input=source, capture_output=True, text=True, timeout=60)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


def test_tools_are_compared_by_name() -> None:
    left = [{"name": "a", "description": "x"}, {"name": "b"}, {"name": "c"}, "odd"]
    right = [{"name": "a", "description": "y"}, {"name": "c"}, {"name": "d"}]
    assert run("comparedTools", left, right) == [
        {"name": "a", "change": "changed", "differences": [["/description", "x", "y"]]},
        {"name": "b", "change": "removed", "differences": []},
        {"name": "d", "change": "added", "differences": []},
    ]


def test_differences_name_the_place() -> None:
    left = {"a": [1, {"b": True}], "c": {"d": 1}, "e": "x" * 3000}
    right = {"a": [1, {"b": 1}, 3], "c": [1], "e": "y"}
    assert run("differences", left, right, "top") == [
        ["top/a/1/b", True, 1],
        ["top/a/2", None, 3],
        ["top/c", '{"d":1}', "[1]"],
        ["top/e", "x" * 2000 + "…", "y"],
    ]


@pytest.mark.slow
def test_they_are_limited_and_may_be_deep() -> None:
    assert len(run("differences", list(range(500)), list(range(1, 501)))) == 200
    deep = {"deep": "[" * 150 + "%d" + "]" * 150}
    left, right = (json.loads(deep["deep"] % number) for number in (1, 2))
    assert len(run("differences", left, right)) == 1


def call(method: str, params: Any = None, outcome: Any = None, seconds: Any = 0.5) -> Any:
    return {"method": method, "params": params, "outcome": outcome, "seconds": seconds}


def test_calls_are_aligned_by_what_they_are_about() -> None:
    left = [
        call("initialize", {"x": 1}, {}),
        call("tools/call", {"name": "a", "_meta": {"progressToken": 1}}, {"v": 1}),
        call("tools/call", {"name": "gone"}, {"code": 1}),
        call("ping", None, None, None),
    ]
    right = [
        call("initialize", {"x": 1}, {}),
        call("tools/call", {"name": "a", "_meta": {"progressToken": 2}}, {"v": 2}),
        call("ping", None, None, None),
        call("resources/read", {"uri": "new"}, {}),
    ]
    found = run("comparedCalls", left, right)
    assert [(each["method"], each["name"], each["change"]) for each in found] == [
        ("initialize", "", "same"),
        ("tools/call", "a", "changed"),
        ("tools/call", "gone", "removed"),
        ("ping", "", "same"),
        ("resources/read", "new", "added"),
    ]
    assert found[1]["differences"] == [["outcome/v", 1, 2]]
    assert found[2]["left"]["outcome"] == {"code": 1}
    assert found[2]["right"] is None


@pytest.mark.quick_rows(1)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a":[1,{}],"b":"{,}"}', '{\n  "a": [\n    1,\n    {}\n  ],\n  "b": "{,}"\n}'),
        ("[12345678901234567890]", "[\n  12345678901234567890\n]"),
        ("{a}", "{a}"),
        ("plain", "plain"),
        ("[" * 3000 + "]" * 3000, "[" * 3000 + "]" * 3000),
    ],
)
def test_json_is_indented_as_it_is_written(text: str, expected: str) -> None:
    """F-SHOW-14: digits stay as they are, and depth costs nothing."""
    assert run("indented", text, module="text") == expected
