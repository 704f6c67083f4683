"""Listing prompts, filling them in, and completing arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import mcpclient
from tests.client.inside import Server

pytestmark = pytest.mark.virtual_time


PROMPT = {"name": "greet", "arguments": [{"name": "who", "required": True}]}


async def test_prompts_are_listed_and_filled_in() -> None:
    """F-API-5: arguments are left out when there are none."""
    message = {"role": "user", "content": {"type": "text", "text": "Hello, Ada"}}
    server = Server(prompts_list={"prompts": [PROMPT]}, prompts_get={"messages": [message]})
    async with server.client() as client:
        (prompt,) = await client.list_prompts()
        assert [argument.name for argument in prompt.arguments] == ["who"]
        assert (await client.get_prompt("greet", {"who": "Ada"})).text == "Hello, Ada"
        await client.get_prompt("greet")
        assert server.asked[1:] == [
            ("prompts/get", {"name": "greet", "arguments": {"who": "Ada"}}),
            ("prompts/get", {"name": "greet"}),
        ]


@pytest.mark.parametrize(
    ("reference", "wire"),
    [
        (mcpclient.Prompt(PROMPT), {"type": "ref/prompt", "name": "greet"}),
        (
            mcpclient.ResourceTemplate({"uriTemplate": "a:{id}"}),
            {"type": "ref/resource", "uri": "a:{id}"},
        ),
        ({"type": "ref/prompt", "name": "raw"}, {"type": "ref/prompt", "name": "raw"}),
    ],
)
async def test_arguments_are_completed(reference: Any, wire: Mapping[str, Any]) -> None:
    """F-API-5: for prompts, templates and whatever reference is given as it is."""
    server = Server(
        completion_complete={"completion": {"values": ["Ada", 7], "total": 2, "hasMore": True}}
    )
    async with server.client() as client:
        found = await client.complete(reference, "who", "A", context={"tone": "kind"})
        assert found.values == ["Ada"]
        assert found.total == 2
        assert found.has_more
        await client.complete(reference, "who", "A")
        argument = {"name": "who", "value": "A"}
        assert server.asked == [
            (
                "completion/complete",
                {"ref": wire, "argument": argument, "context": {"arguments": {"tone": "kind"}}},
            ),
            ("completion/complete", {"ref": wire, "argument": argument}),
        ]


async def test_a_completion_has_a_time_limit_of_its_own() -> None:
    """F-API-5, F-API-8: whoever types waits for less than for a call."""
    async with Server(completion_complete=lambda params: None).client() as client:
        with pytest.raises(mcpclient.CallTimeout, match="within 2 s"):
            await client.complete({"type": "ref/prompt", "name": "x"}, "a", "", timeout=2)


async def test_a_completion_of_the_wrong_shape_is_empty() -> None:
    """F-WIRE-8."""
    async with Server(completion_complete={"completion": ["odd"]}).client() as client:
        found = await client.complete({"type": "ref/prompt", "name": "x"}, "a", "")
        assert found.values == []
