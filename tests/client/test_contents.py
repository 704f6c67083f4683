"""Listing and reading resources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import mcpclient
from tests.client.inside import VERSIONS, Server

pytestmark = pytest.mark.virtual_time


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

    def complete(params: Mapping[str, Any]) -> dict[str, Any]:
        more = {"total": 2, "hasMore": True} if "context" in params else {}
        return {"completion": {"values": ["Ada", 7], **more}}

    server = Server(completion_complete=complete)
    async with server.client() as client:
        found = await client.complete(reference, "who", "A", context={"tone": "kind"})
        assert found.values == ["Ada"]
        assert found.total == 2
        assert found.has_more
        assert not (await client.complete(reference, "who", "A")).has_more
        argument = {"name": "who", "value": "A"}
        assert server.asked == [
            (
                "completion/complete",
                {"ref": wire, "argument": argument, "context": {"arguments": {"tone": "kind"}}},
            ),
            ("completion/complete", {"ref": wire, "argument": argument}),
        ]
