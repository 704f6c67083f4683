"""F-SHOW-16: the differences between two lists of tools, and between two sessions."""

from __future__ import annotations

from typing import Any

from mcpclient.framing.headers import Headers
from mcpclient.inspector.lists import compared_calls, compared_tools, differences
from mcpclient.recording.conversation import Call, Failed, Heard, Refused


def test_tools_are_compared_by_name() -> None:
    left = [{"name": "a", "description": "x"}, {"name": "b"}, {"name": "c"}, "odd"]
    right = [{"name": "a", "description": "y"}, {"name": "c"}, {"name": "d"}]
    assert compared_tools(left, right) == [
        {"name": "a", "change": "changed", "differences": [["/description", "x", "y"]]},
        {"name": "b", "change": "removed", "differences": []},
        {"name": "d", "change": "added", "differences": []},
    ]


def test_differences_name_the_place() -> None:
    left = {"a": [1, {"b": True}], "c": {"d": 1}, "e": "x" * 3000}
    right = {"a": [1, {"b": 1}, 3], "c": [1], "e": "y"}
    assert differences(left, right, "top") == [
        ["top/a/1/b", True, 1],
        ["top/a/2", None, 3],
        ["top/c", '{"d": 1}', "[1]"],
        ["top/e", "x" * 2000 + "…", "y"],
    ]


def test_they_are_limited_and_may_be_deep() -> None:
    assert len(differences(list(range(500)), list(range(1, 501)))) == 200
    left: Any = 1
    right: Any = 2
    for _ in range(5_000):
        left, right = [left], [right]
    assert len(differences(left, right)) == 1


def call(method: str, params: Any = None, result: Any = None, ended: float | None = 1.5) -> Call:
    made = Call({"id": 1, "method": method, "params": params}, 1.0, ended_at=ended)
    if result is not None:
        made.steps.append(Heard({"id": 1, **result}))
    return made


def test_calls_are_aligned_by_what_they_are_about() -> None:
    left = [
        call("initialize", {"x": 1}, {"result": {}}),
        call("tools/call", {"name": "a", "_meta": {"progressToken": 1}}, {"result": {"v": 1}}),
        call("tools/call", {"name": "gone"}, {"error": {"code": 1}}),
        call("ping", None, None, None),
    ]
    right = [
        call("initialize", {"x": 1}, {"result": {}}),
        call("tools/call", {"name": "a", "_meta": {"progressToken": 2}}, {"result": {"v": 2}}),
        call("ping", None, None, None),
        call("resources/read", {"uri": "new"}, {"result": {}}),
    ]
    found = compared_calls(left, right)
    assert [(each["method"], each["name"], each["change"]) for each in found] == [
        ("initialize", "", "same"),
        ("tools/call", "a", "changed"),
        ("tools/call", "gone", "removed"),
        ("ping", "", "same"),
        ("resources/read", "new", "added"),
    ]
    assert found[1]["differences"] == [["outcome/v", 1, 2]]
    assert found[0]["left"] == {"seconds": 0.5, "outcome": {}}
    assert found[2]["left"]["outcome"] == {"code": 1}
    assert found[2]["right"] is None


def test_failures_are_outcomes() -> None:
    refused, failed = call("a"), call("a")
    refused.steps.append(Refused(404, Headers(), b"", False))
    failed.steps.append(Failed({"type": "ConnectionLost"}))
    (found,) = compared_calls([refused], [failed])
    assert found["left"]["outcome"] == {"http": 404}
    assert found["right"]["outcome"] == {"type": "ConnectionLost"}
