"""Listing and reading resources."""

from __future__ import annotations

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
