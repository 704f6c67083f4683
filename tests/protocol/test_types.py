"""The protocol's objects: F-WIRE-8, F-API-2 to F-API-5 and F-API-17."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.protocol.types import (
    AudioContent,
    CallToolResult,
    Completion,
    Content,
    EmbeddedResource,
    GetPromptResult,
    ImageContent,
    Implementation,
    LogMessage,
    Progress,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceResult,
    Resource,
    ResourceContents,
    ResourceLink,
    ResourceTemplate,
    TextContent,
    Tool,
    ToolResultContent,
    ToolUseContent,
    content_block,
)
from mcpclient.protocol.wire_object import WireObject
from tests.support.properties import examples


def text_result(*texts: str, **more: Any) -> CallToolResult:
    return CallToolResult({"content": [{"type": "text", "text": text} for text in texts], **more})


# Results of tools


def test_content_blocks_by_type() -> None:
    """F-API-3: each block as its own class, in order; unknown types as plain content."""
    result = CallToolResult(
        {
            "content": [
                {"type": "text", "text": "hi", "annotations": {"priority": 1}},
                {"type": "image", "data": "aGk=", "mimeType": "image/png"},
                {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
                {"type": "resource_link", "uri": "a://b", "name": "b", "title": "B"},
                {"type": "resource", "resource": {"uri": "a://b", "text": "t"}},
                {"type": "hologram", "depth": 3},
                {"type": ["odd"]},
                {},
                "no block",
            ]
        }
    )
    kinds = [type(block) for block in result.content]
    assert kinds == [
        TextContent,
        ImageContent,
        AudioContent,
        ResourceLink,
        EmbeddedResource,
        Content,
        Content,
        Content,
    ]
    text, image, audio, link, embedded, hologram = result.content[:6]
    assert isinstance(text, TextContent)
    assert (text.text, text.annotations) == ("hi", {"priority": 1})
    assert isinstance(image, ImageContent)
    assert (image.data, image.mime_type) == (b"hi", "image/png")
    assert isinstance(audio, AudioContent)
    assert (audio.data, audio.mime_type) == (b"hi", "audio/wav")
    assert not isinstance(audio, ImageContent)
    assert isinstance(link, ResourceLink)
    assert (link.uri, link.name, link.title, link.description) == ("a://b", "b", "B", None)
    assert isinstance(embedded, EmbeddedResource)
    assert (embedded.resource.uri, embedded.resource.text) == ("a://b", "t")
    assert hologram.type == "hologram"
    assert hologram.raw == {"type": "hologram", "depth": 3}


def test_text_is_joined() -> None:
    """F-API-3: the text of all text blocks, and of no other."""
    result = text_result("a", "b")
    result.raw["content"].insert(1, {"type": "image", "data": "", "text": "no"})
    result.raw["content"].append({"type": "text", "text": 5})
    assert result.text == "a\nb\n"
    assert CallToolResult({}).text == ""
    assert CallToolResult({"content": "text"}).content == []


@pytest.mark.parametrize(
    ("result", "data"),
    [
        (text_result("[1, 2]", structuredContent={"a": 1}), {"a": 1}),
        (text_result("1", structuredContent=0), 0),
        (text_result("x", structuredContent=[]), []),
        (text_result("x", structuredContent=False), False),
        # Some servers write null for what is not there; a tool whose value is null says so in text.
        (text_result("[1, 2]", structuredContent=None), [1, 2]),
        (text_result("null", structuredContent=None), None),
        (text_result('{"a": 1}'), {"a": 1}),
        (text_result(" 5 "), 5),
        (text_result("5", "6"), "5\n6"),
        (text_result("plain words"), "plain words"),
        (text_result("NaN"), "NaN"),
        (text_result("[-Infinity]"), "[-Infinity]"),
        (text_result("[" * 100_000), "[" * 100_000),
        (text_result(""), ""),
        (CallToolResult({}), ""),
    ],
)
def test_the_most_useful_data(result: CallToolResult, data: Any) -> None:
    """F-API-3: structured content, else JSON found in the text, else the text."""
    assert result.data == data


def test_structured_content_and_failure() -> None:
    """F-API-2, F-API-3: a failure is a flag on the result, and only true is true."""
    assert text_result("x", structuredContent={"a": 1}).structured == {"a": 1}
    assert text_result("x").structured is None
    assert text_result("x", isError=True).is_error
    assert not text_result("x", isError=False).is_error
    assert not text_result("x", isError="yes").is_error
    assert not text_result("x").is_error
    assert text_result("x", vendor=1, _meta={"a": 1}).raw["vendor"] == 1
    assert text_result("x", _meta={"a": 1}).meta == {"a": 1}


# Binary data


@pytest.mark.parametrize(
    ("data", "decoded"),
    [
        ("aGVsbG8=", b"hello"),
        ("aGVsbG8", b"hello"),
        ("aGVsbG8====", b"hello"),
        ("aGVs\r\nbG8=\n", b"hello"),
        ("aGVsbG8\n", b"hello"),
        ("-_-_", b"\xfb\xff\xbf"),
        ("+/+/", b"\xfb\xff\xbf"),
        ("", b""),
        ("a", b""),
        ("####", b""),
        ("aGVs$$bG8=", b""),
        ("=aGVs", b""),
        ("ä===", b""),
        ("\ud800", b""),
        (None, b""),
        (5, b""),
    ],
)
def test_base64(data: Any, decoded: bytes) -> None:
    """F-API-4: line breaks, both alphabets and missing padding are read; bad data is empty."""
    assert ImageContent({"type": "image", "data": data}).data == decoded
    assert ResourceContents({"blob": data}).data == decoded


@given(st.binary(max_size=40), st.text(max_size=10))
@examples(80)
def test_any_base64_and_any_text(data: bytes, text: str) -> None:
    """F-API-4: what was encoded is decoded, and nothing makes the decoder raise."""
    encoded = base64.b64encode(data).decode()
    assert ResourceContents({"blob": encoded}).data == data
    assert ResourceContents({"blob": encoded.rstrip("=")}).data == data
    assert isinstance(ResourceContents({"blob": encoded + text}).data, bytes)


# Resources


def test_reading_a_resource() -> None:
    """F-API-4: text and bytes of every part."""
    result = ReadResourceResult(
        {
            "contents": [
                {"uri": "a://1", "mimeType": "text/plain", "text": "é"},
                {"uri": "a://2", "blob": "AAE="},
                {"uri": "a://3", "text": ""},
                {"uri": "a://4"},
            ]
        }
    )
    assert [part.uri for part in result.contents] == ["a://1", "a://2", "a://3", "a://4"]
    assert result.contents[0].mime_type == "text/plain"
    assert result.text == "é\n"
    assert result.data == "é".encode() + b"\0\1"
    assert ResourceContents({"text": "\ud800"}).data == b"\xed\xa0\x80"
    assert ReadResourceResult({}).contents == []


def test_lists_of_resources() -> None:
    """F-API-4: what a list says of a resource and of a template."""
    resource = Resource({"uri": "a://b", "name": "b", "size": 12, "mimeType": "x/y"})
    assert (resource.uri, resource.name, resource.size, resource.mime_type) == (
        "a://b",
        "b",
        12,
        "x/y",
    )
    assert Resource({"size": True}).size is None
    template = ResourceTemplate({"uriTemplate": "a://{b}", "title": "T"})
    assert (template.uri_template, template.title, template.name) == ("a://{b}", "T", "")
    assert EmbeddedResource({"resource": "x"}).resource.uri == ""


# Tools, prompts, and the rest


def test_tools() -> None:
    """F-API-2: schemas exactly as sent, also those that are plain true."""
    schema = {"type": "object", "$defs": {"x": {"$ref": "#/$defs/x"}}}
    tool = Tool({"name": "t", "description": "d", "inputSchema": schema, "outputSchema": True})
    assert (tool.name, tool.title, tool.description) == ("t", None, "d")
    assert tool.input_schema is schema
    assert tool.output_schema is True
    assert Tool({"inputSchema": False}).input_schema is False
    assert Tool({"inputSchema": "no", "outputSchema": "no"}).output_schema is None


@pytest.mark.parametrize(
    ("hints", "read_only", "destructive", "idempotent"),
    [
        (None, False, True, False),
        ({}, False, True, False),
        ({"readOnlyHint": True}, True, False, True),
        ({"readOnlyHint": True, "destructiveHint": True}, True, False, True),
        ({"readOnlyHint": False}, False, True, False),
        ({"readOnlyHint": "yes", "destructiveHint": "no"}, False, True, False),
        ({"destructiveHint": False}, False, False, False),
        ({"idempotentHint": True}, False, True, True),
        ({"idempotentHint": 1, "destructiveHint": 0}, False, True, False),
    ],
)
def test_the_hints_of_a_tool(
    hints: dict[str, Any] | None, read_only: bool, destructive: bool, idempotent: bool
) -> None:
    """F-API-2: where they are silent, the defaults of the specification, the worst there is."""
    tool = Tool({"name": "t"} if hints is None else {"name": "t", "annotations": hints})
    found = (tool.read_only, tool.destructive, tool.idempotent)
    assert found == (read_only, destructive, idempotent)


def test_a_tool_without_a_schema_shares_nothing() -> None:
    """F-WIRE-8: changing the empty schema of one tool changes no other."""
    Tool({"inputSchema": "no"}).input_schema["properties"] = {}
    assert Tool({}).input_schema == {}


def test_prompts() -> None:
    """F-API-5: prompts, their arguments, and the messages they become."""
    prompt = Prompt({"name": "p", "arguments": [{"name": "a", "required": True}, {"name": "b"}]})
    assert [(argument.name, argument.required) for argument in prompt.arguments] == [
        ("a", True),
        ("b", False),
    ]
    result = GetPromptResult(
        {
            "description": "d",
            "messages": [
                {"role": "user", "content": {"type": "text", "text": "one"}},
                {"role": "assistant", "content": {"type": "image", "data": "aGk="}},
                {"role": "user", "content": "no object"},
                {"role": "user", "content": {"type": "text", "text": "two"}},
            ],
        }
    )
    assert result.text == "one\ntwo"
    assert [message.role for message in result.messages] == ["user", "assistant", "user", "user"]
    assert isinstance(result.messages[1].content, ImageContent)
    assert result.messages[2].content.raw == {}


def test_completion_progress_and_log() -> None:
    """F-API-5 to F-API-7: small objects, with wrong types read as absent."""
    completion = Completion({"values": ["a", 5, "b"], "total": 2, "hasMore": True})
    assert (completion.values, completion.total, completion.has_more) == (["a", "b"], 2, True)
    assert Completion({"values": "ab"}).values == []
    progress = Progress({"progress": 0.5, "total": 1, "message": "half"})
    assert (progress.progress, progress.total, progress.message) == (0.5, 1, "half")
    assert Progress({"progress": "x"}).progress == 0
    log = LogMessage({"level": "error", "logger": "db", "data": ["any", "value"]})
    assert (log.level, log.logger, log.data) == ("error", "db", ["any", "value"])
    assert (LogMessage({}).level, LogMessage({}).data) == ("info", None)


def test_self_descriptions() -> None:
    """F-API-20: a server that says nothing of itself has an empty description."""
    described = Implementation({"name": "s", "version": "1", "icons": []})
    assert (described.name, described.version, described.title) == ("s", "1", None)
    nobody = Implementation({})
    assert (nobody.name, nobody.version, nobody.title) == ("", "", None)


NAMED = {"name": "", "title": None}
DESCRIBED = {**NAMED, "description": None}
READABLE = {**DESCRIBED, "mime_type": None, "annotations": None, "uri": ""}
BLOCK = {"type": "", "annotations": None}
OUTPUT: dict[str, Any] = {"content": [], "structured": None, "is_error": False, "text": ""}
SILENT: dict[type[WireObject], dict[str, Any]] = {
    Implementation: {**NAMED, "version": ""},
    Tool: {**DESCRIBED, "annotations": None, "input_schema": {}, "output_schema": None},
    Resource: {**READABLE, "size": None},
    ResourceContents: {"uri": "", "mime_type": None, "text": None, "blob": None, "data": b""},
    Content: BLOCK,
    TextContent: {**BLOCK, "text": ""},
    ImageContent: {**BLOCK, "mime_type": "", "data": b""},
    AudioContent: {**BLOCK, "mime_type": "", "data": b""},
    ResourceLink: {**READABLE, **BLOCK},
    ToolUseContent: {**BLOCK, "id": "", "name": "", "input": {}},
    ToolResultContent: {**BLOCK, **OUTPUT, "tool_use_id": ""},
    CallToolResult: {**OUTPUT, "data": "", "is_wrapped": False, "warnings": []},
    PromptArgument: {**DESCRIBED, "required": False},
    Prompt: {**DESCRIBED, "arguments": []},
    PromptMessage: {"role": ""},
    GetPromptResult: {"description": None, "messages": [], "text": ""},
    ReadResourceResult: {"contents": [], "text": "", "data": b""},
    Completion: {"values": [], "total": None, "has_more": False},
    Progress: {"progress": 0.0, "total": None, "message": None},
    LogMessage: {"level": "info", "logger": None, "data": None},
}


@pytest.mark.parametrize("kind", SILENT, ids=lambda kind: kind.__name__)
def test_what_a_server_leaves_out(kind: type[WireObject]) -> None:
    """F-WIRE-8: has a value of the same type as what is there, or None."""
    silent = kind({})
    assert {name: getattr(silent, name) for name in SILENT[kind]} == SILENT[kind]


def test_blocks_that_only_sampling_has() -> None:
    """F-API-3, F-API-10: a call of a tool, and its result."""
    use = content_block({"type": "tool_use", "id": "1", "name": "t", "input": {"a": 1}})
    assert isinstance(use, ToolUseContent)
    assert (use.id, use.name, use.input) == ("1", "t", {"a": 1})
    found = content_block(
        {
            **{"type": "tool_result", "toolUseId": "1", "isError": True},
            **{"structuredContent": {"a": 1}, "content": [{"type": "text", "text": "x"}]},
        }
    )
    assert isinstance(found, ToolResultContent)
    assert (found.tool_use_id, found.is_error, found.text) == ("1", True, "x")
    assert found.structured == {"a": 1}


def test_annotations_and_descriptions_are_read() -> None:
    """F-API-2, F-API-4, F-API-5: under the names that the protocol gives them."""
    hints = {"audience": ["user"]}
    described = {"annotations": hints, "description": "d"}
    for kind in (Tool, Resource, ResourceTemplate, ResourceLink):
        assert (kind(described).annotations, kind(described).description) == (hints, "d")
    assert GetPromptResult(described).description == PromptArgument(described).description == "d"


def test_the_wrapper_of_a_result_is_taken_off_where_it_is_one() -> None:
    """F-API-3, F-API-29: as the result alone shows: the text of a genuine object repeats it."""
    whole = '{"result": 1}'
    for structured, texts, data in (
        ({"result": 1}, ["1"], 1),
        ({"result": 1}, ["the answer"], 1),
        ({"result": [1, 2]}, ["1", "2"], [1, 2]),
        ({"result": None}, [], None),
        ({"result": 1}, [whole], {"result": 1}),
        ({"result": 1}, [whole, whole], 1),
        ({"result": 1, "more": 2}, ["1"], {"result": 1, "more": 2}),
        ({"other": 1}, ["1"], {"other": 1}),
        ([1], ["1"], [1]),
    ):
        content = [{"type": "text", "text": text} for text in texts]
        result = CallToolResult({"content": content, "structuredContent": structured})
        assert result.data == data
        assert result.is_wrapped == (data != structured)
