"""Functions around a call: F-API-23."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from mcpclient.client.events.around import Call, Proceed, ask_unless_read_only, surrounded
from mcpclient.errors import UsageError
from mcpclient.protocol.types import CallToolResult, Tool
from tests.support.virtual_time import run

pytestmark = pytest.mark.virtual_time

CALL = Call("demo", "echo", "demo__echo", {"text": "hi"})


def tool(**annotations: bool) -> Tool:
    return Tool({"name": "echo", "annotations": annotations})


def echo(params: Mapping[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": repr(params["arguments"])}]}


async def make(call: Call) -> CallToolResult:
    return CallToolResult(echo({"arguments": call.arguments}))


def outcome(hooks: list[Any], call: Call) -> CallToolResult:
    async def main() -> CallToolResult:
        return await surrounded(hooks, make)(call)

    return run(main())


def test_reading_changes_nothing_where_the_server_is_believed() -> None:
    """F-SAFE-5: of any other server, a question is asked: a URI carries text of the model."""
    read = replace(CALL, method="resources/read", name="mem://1")
    assert (read.read_only, read.destructive) == (False, True)
    believed = replace(read, trusted=True)
    assert (believed.read_only, believed.destructive) == (True, False)


@pytest.mark.parametrize(
    ("returned", "named"), [(None, "NoneType"), ("text", "str"), ({"content": []}, "dict")]
)
def test_a_hook_returns_a_result(returned: Any, named: str) -> None:
    """F-API-23: a forgotten return is said in words, and so is a plain function."""

    async def around(call: Call, proceed: Proceed) -> Any:
        return returned

    def plain(call: Call, proceed: Proceed) -> Any:
        return returned

    for hook in (around, plain):
        with pytest.raises(UsageError, match=rf"returned {named}, not a CallToolResult: return"):
            outcome([hook], CALL)


@pytest.mark.parametrize(
    ("trusted", "annotations", "asks"),
    [
        (True, {"readOnlyHint": True}, False),
        (True, {"readOnlyHint": False}, True),
        (True, {}, True),
        (False, {"readOnlyHint": True}, True),
    ],
)
def test_approval_is_asked_for_what_is_not_read_only(
    trusted: bool, annotations: dict[str, bool], asks: bool
) -> None:
    """F-API-23: and a server that is not trusted cannot say so of itself."""
    asked: list[str] = []

    def ask(call: Call) -> bool:
        asked.append(call.full_name)
        return True

    call = replace(CALL, trusted=trusted, tool=tool(**annotations))
    assert not outcome([ask_unless_read_only(ask)], call).is_error
    assert asked == (["demo__echo"] if asks else [])


def test_what_a_tool_may_do() -> None:
    """The defaults of the specification: not read-only, and destructive."""
    assert not CALL.read_only and CALL.destructive
    assert replace(CALL, trusted=True).destructive  # The tool is unknown.
    harmless = replace(CALL, trusted=True, tool=tool(destructiveHint=False))
    assert not harmless.destructive and not harmless.read_only
    assert replace(harmless, trusted=False).destructive
