"""Calling several tools at the same time: F-API-2, F-LIFE-9."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import mcpclient
from mcpclient.client.events.around import Call, Proceed
from mcpclient.client.requests import connection_of
from tests.client.inside import VERSIONS, Server

pytestmark = pytest.mark.virtual_time

CALLS = [(name, {"number": number}) for number, name in enumerate(["a", "b", "bad", "no", "c"])]


def answer(params: Mapping[str, Any]) -> dict[str, Any]:
    if params["name"] == "no":
        raise mcpclient.PeerError(-32602, "no such tool")
    text = f"{params['name']}{params['arguments'].get('number', '')}"
    return {"content": [{"type": "text", "text": text}], "isError": params["name"] == "bad"}


def told(outcomes: list[Any]) -> list[str]:
    """The outcome of each call, in short."""
    return [each.text if hasattr(each, "text") else type(each).__name__ for each in outcomes]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("options", [{}, {"meta": {"a": 1}}, {"on_progress": print}])
async def test_outcomes_come_in_the_order_of_the_calls(version: str, options: Any) -> None:
    """An error stands in the place of its result, and ends no other call."""
    server = Server(tools_call=answer)
    async with server.client(protocol_version=version) as client:
        outcomes = await client.call_tools(CALLS, **options)
        assert told(outcomes) == ["a0", "b1", "bad2", "PeerError", "c4"]
        assert [params["name"] for _, params in server.asked] == [name for name, _ in CALLS]
        assert await client.call_tools([]) == []
        assert told(await client.call_tools([("a", None)])) == ["a"]


async def test_no_option_is_ignored() -> None:
    async with Server(tools_call=answer).client() as client:
        options: Any = {"returns": str}
        assert await client.call_tools(CALLS[:2], **options) == ["a0", "b1"]
        with pytest.raises(TypeError, match="timeot"):
            await client.call_tools(CALLS, timeot=5)  # type: ignore[call-arg]


async def test_hooks_given_to_them_are_asked_for_each() -> None:
    """F-API-23"""

    async def refuse(call: Call, proceed: Proceed) -> Any:
        if call.name == "b":
            raise mcpclient.UsageError("not b")
        return await proceed(call)

    server = Server(tools_call=answer)
    async with server.client() as client:
        outcomes = await client.call_tools(CALLS[:2], around=[refuse])
        assert told(outcomes) == ["a0", "UsageError"]
        assert [params["name"] for _, params in server.asked] == ["a"]


@pytest.mark.parametrize("arguments", [["x"], {1: 2}])
async def test_nothing_is_sent_where_arguments_are_none(arguments: Any) -> None:
    server = Server(tools_call=answer)
    async with server.client() as client:
        with pytest.raises(mcpclient.UsageError, match="arguments"):
            await client.call_tools([("a", {}), ("b", arguments)])
        assert server.asked == []


async def test_a_result_that_breaks_its_schema_is_an_error_where_that_is_strict() -> None:
    schema = {"type": "object", "properties": {"sum": {"type": "number"}}}
    server = Server(
        tools_list={"tools": [{"name": "add", "outputSchema": schema}]},
        tools_call={"content": [], "structuredContent": {"sum": "text"}},
    )
    async with server.client(validate="strict") as client:
        await client.list_tools()
        outcomes = await client.call_tools([("add", {}), ("other", {})])
        assert told(outcomes) == ["ProtocolViolation", ""]


async def test_a_tool_that_is_a_task_is_called_as_one() -> None:
    """F-API-13: no matter in whose company."""
    tool = {"name": "slow", "execution": {"taskSupport": "required"}}
    asked: dict[str, bool] = {}

    def call(params: Mapping[str, Any]) -> dict[str, Any]:
        asked[params["name"]] = "task" in params
        return {"content": []}

    server = Server(tools_list={"tools": [tool]}, tools_call=call)
    async with server.client() as client:
        await client.list_tools()
        agreement = connection_of(client).agreement
        assert agreement is not None
        tasks: dict[str, Any] = {"tasks": {"requests": {"tools": {"call": {}}}}}
        connection_of(client).agreement = agreement._replace(capabilities=tasks)
        outcomes = await client.call_tools([("slow", {}), ("quick", {})])
        assert asked == {"slow": True, "quick": False}
        assert told(outcomes)[1] == ""
