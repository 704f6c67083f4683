"""Listing and reading resources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import mcpclient
from tests.client.inside import VERSIONS, Server

pytestmark = pytest.mark.virtual_time


async def test_resources_and_templates_are_listed() -> None:
    """F-API-4, F-API-9: all pages of them."""
    pages = iter(
        [
            {"resources": [{"uri": "a:1", "name": "one"}], "nextCursor": "p2"},
            {"resources": [{"uri": "a:2", "name": "two"}]},
        ]
    )
    server = Server(
        resources_list=lambda params: next(pages),
        resources_templates_list={"resourceTemplates": [{"uriTemplate": "a:{id}", "name": "t"}]},
    )
    async with server.client() as client:
        assert [resource.uri for resource in await client.list_resources()] == ["a:1", "a:2"]
        assert [t.uri_template for t in await client.list_resource_templates()] == ["a:{id}"]
        assert server.asked == [
            ("resources/list", {}),
            ("resources/list", {"cursor": "p2"}),
            ("resources/templates/list", {}),
        ]


async def test_reading_gives_text_and_bytes() -> None:
    """F-API-4: bytes come decoded."""
    contents = [{"uri": "a:1", "text": "hello"}, {"uri": "a:1", "blob": "AAEC"}]
    server = Server(resources_read={"contents": contents})
    async with server.client() as client:
        result = await client.read_resource("a:1")
        assert result.text == "hello"
        assert result.contents[1].data == b"\x00\x01\x02"
        assert result.data == b"hello\x00\x01\x02"
        assert server.asked == [("resources/read", {"uri": "a:1"})]


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_template_is_read_with_its_variables(version: str) -> None:
    """F-API-4: expanded as RFC 6570 has it."""
    server = Server(resources_read={"contents": [{"uri": "x", "text": "y"}]})
    template = mcpclient.ResourceTemplate({"uriTemplate": "file:///{path}{?line,column}"})
    assert template.expand(path="a b", line=7) == "file:///a%20b?line=7"
    async with server.client(protocol_version=version) as client:
        await client.read_resource(template, {"path": "notes", "line": 7})
        await client.read_resource(template)
        with pytest.raises(mcpclient.UsageError, match="for a ResourceTemplate"):
            await client.read_resource("file:///x", {"path": "notes"})
        with pytest.raises(mcpclient.UsageError, match="mapping"):
            await client.read_resource(template, ["notes"])  # type: ignore[arg-type]
        assert [params["uri"] for _, params in server.asked] == ["file:///notes?line=7", "file:///"]


# Listing prompts, filling them in, and completing arguments

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


async def test_a_completion_of_the_wrong_shape_is_empty() -> None:
    """F-WIRE-8."""
    async with Server(completion_complete={"completion": ["odd"]}).client() as client:
        found = await client.complete({"type": "ref/prompt", "name": "x"}, "a", "")
        assert found.values == []
