"""Stubs of servers of other makers, and calls through them: F-STUB-1."""

from __future__ import annotations

import typing
from types import ModuleType
from typing import Any

import pytest

from conformance import peers
from mcpclient import sync
from mcpclient.client.typed_results import is_typed_dict
from mcpclient.protocol.types import CallToolResult
from mcpclient.stubs import Offer, stubs_for
from mcpclient.sync.loop_thread import end_loop_thread

pytestmark = pytest.mark.slow

# By the name of a server: a tool, its name in Python, its arguments, and the type of its result.
CALLS: dict[str, tuple[str, str, dict[str, Any], object]] = {
    "time": ("get_current_time", "get_current_time", {"timezone": "UTC"}, "typed"),
    "everything-stdio": ("get-sum", "get_sum", {"a": 1, "b": 2}, CallToolResult),
    "git": ("git_status", "git_status", {"repo_path": str(peers.TOP)}, CallToolResult),
    "memory": ("read_graph", "read_graph", {}, "typed"),
    "sequential-thinking": (
        "sequentialthinking",
        "sequentialthinking",
        {"thought": "a", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1},
        "typed",
    ),
    "mcp1-stdio": ("echo", "echo", {"text": "a"}, str),
    "mcp2-stdio": ("add", "add", {"a": 1, "b": 2}, "typed"),
    "fastmcp-stdio": ("echo", "echo", {"text": "a"}, str),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_gives_what_call_tool_gives(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-STUB-1: its data, of the type that the stub says, or the whole result."""
    command = peers.command(name)
    if command is None:
        pytest.skip(f"{name} is not installed: python -m conformance.peers install")
    monkeypatch.chdir(peers.TOP)
    request.addfinalizer(end_loop_thread)
    tool, method, arguments, returns = CALLS[name]
    with sync.connect(command, stderr="discard", timeout=60) as client:
        source = stubs_for(Offer(name, client.list_tools(), target=command))
        module = ModuleType("stubs_of_a_server")
        exec(compile(source, "stubs.py", "exec"), module.__dict__)
        stub = next(each for each in vars(module).values() if getattr(each, "DIGEST", ""))
        made = stub(client)
        python_names = stub.__dict__[method].__annotations__
        given = {key: value for key, value in arguments.items() if key in python_names}
        assert given == arguments
        found, expected = getattr(made, method)(**given), client.call_tool(tool, arguments)
    if returns is CallToolResult:
        assert (found.text, found.is_error) == (expected.text, False)
        return
    hint = eval(python_names["return"], {**vars(typing), **vars(module)})
    assert hint is returns or (returns == "typed" and is_typed_dict(hint))
    assert type(found) is type(expected.data)
    if name not in ("time", "sequential-thinking"):  # They count on.
        assert found == expected.data
