"""Functions around a call: F-API-23."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

import mcpclient
from mcpclient.client.events.around import Call, Proceed, ask_unless_read_only, surrounded
from mcpclient.errors import PeerError, ToolError, UsageError
from mcpclient.protocol.types import CallToolResult, Tool
from tests.client.scripted_server import ScriptedServer
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


def naming(name: str, order: list[str]) -> Any:
    async def around(call: Call, proceed: Proceed) -> CallToolResult:
        order.append(name)
        try:
            return await proceed(call)
        finally:
            order.append(f"/{name}")

    return around


def test_the_first_is_outermost() -> None:
    """F-API-23: like decorators, from the outside in and back."""
    order: list[str] = []
    result = outcome([naming("a", order), naming("b", order)], CALL)
    assert result.text == "{'text': 'hi'}"
    assert order == ["a", "b", "/b", "/a"]


async def test_questions_are_asked_one_at_a_time() -> None:
    """F-SAFE-5: a user answers the question that is shown."""
    open_questions: list[str] = []
    most: list[int] = []

    async def ask(call: Call) -> bool:
        open_questions.append(call.name)
        most.append(len(open_questions))
        await asyncio.sleep(1)
        open_questions.remove(call.name)
        return True

    hook = ask_unless_read_only(ask)
    async with ScriptedServer({"tools/call": echo}).client(around=[hook]) as client:
        await client.call_tools([("a", None), ("b", None), ("c", None)])
    assert most == [1, 1, 1]


async def test_a_question_may_lead_to_another_before_it_is_answered() -> None:
    """F-SAFE-5: whoever asks may use a tool for it, which it is asked about as well."""

    async def ask(call: Call) -> bool:
        return call.name == "show" or not (await client.call_tool("show")).is_error

    hook = ask_unless_read_only(ask)
    async with ScriptedServer({"tools/call": echo}).client(around=[hook]) as client:
        outcomes = await client.call_tools([("a", None), ("b", None)])
    assert not any(getattr(each, "is_error", True) for each in outcomes)


def test_reading_changes_nothing_where_the_server_is_believed() -> None:
    """F-SAFE-5: of any other server, a question is asked: a URI carries what a model puts in it."""
    read = replace(CALL, method="resources/read", name="mem://1")
    assert (read.read_only, read.destructive) == (False, True)
    believed = replace(read, trusted=True)
    assert (believed.read_only, believed.destructive) == (True, False)


def test_a_hook_changes_what_is_sent() -> None:
    """F-API-23: arguments, metadata and headers are the hook's to change."""

    async def around(call: Call, proceed: Proceed) -> CallToolResult:
        return await proceed(replace(call, arguments={"text": "bye"}))

    assert outcome([around], CALL).text == "{'text': 'bye'}"


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


# Approval


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


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (False, "demo__echo was not called: the user did not allow it"),
        ("", "demo__echo was not called: the user did not allow it"),
        (None, "demo__echo was not called: the user did not allow it"),
        ("not on Sundays", "demo__echo was not called: not on Sundays"),
    ],
)
def test_what_is_not_allowed_is_refused(answer: Any, text: str) -> None:
    """F-API-23: only True allows; a text is the reason that the model reads."""

    async def ask(call: Call) -> Any:
        return answer

    for around in (ask_unless_read_only(ask), ask_unless_read_only(lambda call: answer)):
        result = outcome([around], CALL)
        assert (result.is_error, result.text) == (True, text)


def test_what_a_tool_may_do() -> None:
    """The defaults of the specification: not read-only, and destructive."""
    assert not CALL.read_only and CALL.destructive
    assert replace(CALL, trusted=True).destructive  # nobody knows the tool
    harmless = replace(CALL, trusted=True, tool=tool(destructiveHint=False))
    assert not harmless.destructive and not harmless.read_only
    assert replace(harmless, trusted=False).destructive


# In a client


def serve(**answers: Any) -> ScriptedServer:
    tools = [{"name": "echo", "inputSchema": {}, "annotations": {"readOnlyHint": True}}]
    capabilities: dict[str, Any] = {"tools": {}}
    return ScriptedServer(
        {"tools/call": echo, "tools/list": {"tools": tools}, **answers}, capabilities=capabilities
    )


async def test_a_client_runs_its_hooks_inside_those_of_the_call() -> None:
    """F-API-23: and they know what is called, where, and over what."""
    order: list[str] = []
    seen: list[Call] = []

    async def note(call: Call, proceed: Proceed) -> CallToolResult:
        seen.append(call)
        return await proceed(call)

    server = serve()
    async with server.client(around=[naming("client", order), note], name="demo") as client:
        await client.list_tools()
        await client.call_tool(
            "echo", {"a": 1}, around=[naming("call", order)], meta={"m": 1}, trace="trace"
        )
    assert server.sent("tools/call")[0]["arguments"] == {"a": 1}
    assert server.sent("tools/call")[0]["_meta"]["m"] == 1
    assert order == ["call", "client", "/client", "/call"]
    (call,) = seen
    assert (call.server, call.name, call.full_name, call.method) == (
        *("demo", "echo", "echo"),
        "tools/call",
    )
    assert (call.protocol_version, call.transport) == ("2026-07-28", "in-process")
    assert call.tool is not None and call.tool.read_only and not call.read_only
    assert (call.meta, call.trace, call.headers) == ({"m": 1}, "trace", {})


async def test_a_refused_call_never_leaves() -> None:
    """F-API-23: the result says why; with ``raise_on_error`` it is the tool's failure."""

    async def refuse(call: Call, proceed: Proceed) -> CallToolResult:
        return mcpclient.refusal("no")

    server = serve()
    async with server.client(around=[refuse]) as client:
        assert (await client.call_tool("echo")).text == "no"
        with pytest.raises(ToolError, match="no"):
            await client.call_tool("echo", raise_on_error=True)
    assert not server.sent("tools/call")


async def test_time_in_a_hook_counts_in_no_timeout() -> None:
    """F-API-23: a user may think for an hour about a call that has a second."""

    async def think(call: Call, proceed: Proceed) -> CallToolResult:
        await asyncio.sleep(3600)
        return await proceed(call)

    async with serve().client(around=[think]) as client:
        assert not (await client.call_tool("echo", timeout=1, max_timeout=1)).is_error


async def test_repeats_lie_below() -> None:
    """F-API-23: input that the server asks for makes more requests, and one call of a hook."""
    order: list[str] = []
    rounds = iter([{"resultType": "input_required", "requestState": "s"}, echo({"arguments": {}})])
    server = serve(**{"tools/call": lambda params: next(rounds)})
    async with server.client(around=[naming("once", order)]) as client:
        await client.call_tool("echo")
    assert len(server.sent("tools/call")) == 2
    assert order == ["once", "/once"]


async def test_what_a_hook_and_the_server_raise_reaches_the_caller() -> None:
    """F-API-23"""

    async def fail(call: Call, proceed: Proceed) -> CallToolResult:
        raise LookupError("mine")

    order: list[str] = []
    server = ScriptedServer()
    async with server.client(around=[naming("a", order)]) as client:
        with pytest.raises(PeerError):
            await client.call_tool("echo")
        with pytest.raises(LookupError, match="mine"):
            await client.call_tool("echo", around=[fail])
    assert order == ["a", "/a"]
