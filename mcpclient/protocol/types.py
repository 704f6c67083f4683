"""The objects of the protocol as Python classes.

Source: ``schema.ts`` of every revision; a field that only some revisions have is None elsewhere.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .wire_object import (
    Converted,
    Field,
    WireObject,
    WireObjectList,
    object_in,
    string_at,
    strings_in,
)

if TYPE_CHECKING:
    from ..formats.uri_template import TemplateValue

_STRING = (str,)
_OBJECT = (dict,)
_NUMBER = (int, float)
_ANY = (object, bool)


def _decoded(data: str) -> bytes:
    """Decode Base64, leniently in alphabet, line breaks and padding; bad data gives b''."""
    text = "".join(data.split()).replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""


class _Named(WireObject):
    name: Field[str] = Field("name", _STRING, "")
    title: Field[str | None] = Field("title", _STRING, None)


class _Described(_Named):
    description: Field[str | None] = Field("description", _STRING, None)


class _Readable(_Described):
    mime_type: Field[str | None] = Field("mimeType", _STRING, None)
    annotations: Field[dict[str, Any] | None] = Field("annotations", _OBJECT, None)


class Implementation(_Named):
    """The name and version that the peer reports. Unverified: use it for display only."""

    version: Field[str] = Field("version", _STRING, "")


class Tool(_Described):
    """A tool the server offers."""

    output_schema: Field[Any] = Field[Any](
        "outputSchema", (dict, bool), None, "JSON Schema, exactly as sent."
    )
    annotations: Field[dict[str, Any] | None] = Field(
        "annotations", _OBJECT, None, "Hints, not to be trusted."
    )

    @property
    def input_schema(self) -> Any:
        """JSON Schema, exactly as sent; an empty one when there is none."""
        value = self.raw.get("inputSchema")
        return value if isinstance(value, (dict, bool)) else {}

    @property
    def read_only(self) -> bool:
        """Whether the annotations say that the tool changes nothing; False where they are silent.

        Like the next two, it is the server's claim: believe it only of a server you trust
        ("Tool annotations" of the specification).
        """
        return (self.annotations or {}).get("readOnlyHint") is True

    @property
    def destructive(self) -> bool:
        """Whether the tool may destroy something: yes, unless the annotations deny it."""
        return not self.read_only and (self.annotations or {}).get("destructiveHint") is not False

    @property
    def idempotent(self) -> bool:
        """Whether the annotations say that a second call with the same arguments does no more."""
        return self.read_only or (self.annotations or {}).get("idempotentHint") is True


def task_support_of(tool: Mapping[str, Any]) -> str:
    """Return whether a tool is called as a task: ``required``, ``optional`` or ``forbidden``."""
    if "execution" not in tool:  # as most tools, of which there may be thousands
        return "forbidden"
    return string_at(tool, "execution", "taskSupport") or "forbidden"


class Resource(_Readable):
    """Something that can be read."""

    uri: Field[str] = Field("uri", _STRING, "")
    size: Field[float | None] = Field(
        "size", _NUMBER, None, "Size in bytes, where the server says it."
    )


class ResourceTemplate(_Readable):
    """A family of resources; ``uri_template`` is an RFC 6570 template."""

    uri_template: Field[str] = Field("uriTemplate", _STRING, "")

    def expand(self, **variables: TemplateValue) -> str:
        """Return the URI that the template makes of these values (RFC 6570, all levels).

        A variable that is missing or None adds nothing. Raises `TemplateError` for a malformed
        template, and `UsageError` for a value that cannot stand where its variable does.
        """
        from ..formats.uri_template import expand

        uri: str = expand(self.uri_template, variables)
        return uri


class ResourceContents(WireObject):
    """The contents of one resource: ``text``, or ``blob`` as Base64."""

    uri: Field[str] = Field("uri", _STRING, "")
    mime_type: Field[str | None] = Field("mimeType", _STRING, None)
    text: Field[str | None] = Field("text", _STRING, None)
    blob: Field[str | None] = Field("blob", _STRING, None)

    @property
    def data(self) -> bytes:
        """The contents as bytes: the decoded blob, or the text in UTF-8."""
        if self.text is not None:
            return self.text.encode("utf-8", "surrogatepass")
        return _decoded(self.blob or "")


class Content(WireObject):
    """A block of content. A type this library does not know stays a plain `Content`."""

    type: Field[str] = Field("type", _STRING, "")
    annotations: Field[dict[str, Any] | None] = Field("annotations", _OBJECT, None)


class TextContent(Content):
    """Text."""

    text: Field[str] = Field("text", _STRING, "")


class _BinaryContent(Content):
    mime_type: Field[str] = Field("mimeType", _STRING, "")

    @property
    def data(self) -> bytes:
        """The decoded bytes; empty when the content is not valid Base64."""
        value = self.raw.get("data")
        return _decoded(value) if isinstance(value, str) else b""


class ImageContent(_BinaryContent):
    """An image."""


class AudioContent(_BinaryContent):
    """Sound."""


class ResourceLink(Content, _Readable):
    """A pointer to a resource that can be read."""

    uri: Field[str] = Field("uri", _STRING, "")


class EmbeddedResource(Content):
    """The contents of a resource, inside a message."""

    resource: Converted[ResourceContents] = Converted(
        "resource", lambda value: ResourceContents(object_in(value)), "The embedded contents."
    )


class ToolUseContent(Content):
    """A model asks for a tool to be used (sampling)."""

    id: Field[str] = Field("id", _STRING, "")
    name: Field[str] = Field("name", _STRING, "")
    input: Converted[dict[str, Any]] = Converted("input", object_in, "The arguments for the tool.")


class _ToolOutput(WireObject):
    content: WireObjectList[Content] = WireObjectList(
        "content", lambda raw: content_block(raw), "The content blocks, in order."
    )
    structured: Field[Any] = Field[Any](
        "structuredContent", _ANY, None, "The structured content, None when there is none."
    )
    is_error: Field[bool] = Field(
        "isError", (bool,), False, "Whether the tool reports that it failed."
    )

    @property
    def text(self) -> str:
        """The text of all text blocks, joined by line ends."""
        return _joined_text(self.content)


class ToolResultContent(Content, _ToolOutput):
    """The result of a tool, for the model that asked for it (sampling)."""

    tool_use_id: Field[str] = Field("toolUseId", _STRING, "")


_CONTENT_TYPES: dict[object, type[Content]] = {
    "text": TextContent,
    "image": ImageContent,
    "audio": AudioContent,
    "resource_link": ResourceLink,
    "resource": EmbeddedResource,
    "tool_use": ToolUseContent,
    "tool_result": ToolResultContent,
}


def content_block(raw: dict[str, Any]) -> Content:
    """Return a content block as the class of its type, a plain `Content` for unknown types."""
    kind = raw.get("type")
    return _CONTENT_TYPES.get(kind, Content)(raw) if isinstance(kind, str) else Content(raw)


def _joined_text(blocks: Iterable[Content]) -> str:
    return "\n".join(block.text for block in blocks if isinstance(block, TextContent))


class CallToolResult(_ToolOutput):
    """The result of a tool call.

    ``warnings``: violations of the tool's output schema by the structured content; empty where
    that was not checked.
    """

    __slots__ = ("warnings",)

    def __init__(self, raw: Mapping[str, Any], warnings: Sequence[str] = ()) -> None:
        super().__init__(raw)
        self.warnings: list[str] = list(warnings)

    @property
    def is_wrapped(self) -> bool:
        """Whether the structured content is a wrapper ``{"result": …}`` around the return value.

        Frameworks add one to values that are not objects, since structured content must be an
        object. The text then has the bare value; the text of a genuine object repeats all of it.
        """
        structured = self.structured
        if not isinstance(structured, dict) or list(structured) != ["result"]:
            return False
        return len(self.content) != 1 or _as_json(self.text) != structured

    @property
    def data(self) -> Any:
        """The most useful form: structured content, else the text read as JSON, else the text.

        Structured content comes without the wrapper ``{"result": …}`` where it is one, see
        `is_wrapped`; ``structured`` has all of it.
        """
        structured = self.structured
        if structured is not None:
            return structured["result"] if self.is_wrapped else structured
        return _as_json(self.text)


def _as_json(text: str) -> Any:
    """Return the value of JSON; a string that is not JSON is returned as it is."""
    try:
        return json.loads(text, parse_constant=int)  # NaN and Infinity, which are none, fail
    except (ValueError, RecursionError):
        return text


def wraps_result(schema: object) -> bool:
    """Whether a tool's output schema describes a wrapper, as structured content is an object.

    fastmcp marks it, and the Python SDK gives the schema a single property, ``result``.
    """
    if not isinstance(schema, dict):
        return False
    properties = schema.get("properties")
    is_single = isinstance(properties, dict) and list(properties) == ["result"]
    return schema.get("x-fastmcp-wrap-result") is True or is_single


class PromptArgument(_Described):
    """An argument that a prompt takes."""

    required: Field[bool] = Field("required", (bool,), False)


class Prompt(_Described):
    """A prompt the server offers."""

    arguments: WireObjectList[PromptArgument] = WireObjectList("arguments", PromptArgument)


class PromptMessage(WireObject):
    """One message of a prompt."""

    role: Field[str] = Field("role", _STRING, "")
    content: Converted[Content] = Converted(
        "content", lambda value: content_block(object_in(value)), "The content block."
    )


class GetPromptResult(WireObject):
    """A prompt with its arguments filled in."""

    description: Field[str | None] = Field("description", _STRING, None)
    messages: WireObjectList[PromptMessage] = WireObjectList("messages", PromptMessage)

    @property
    def text(self) -> str:
        """The text of all messages, joined by line ends."""
        return _joined_text(message.content for message in self.messages)


class ReadResourceResult(WireObject):
    """The result of reading a resource: one or more `ResourceContents`."""

    contents: WireObjectList[ResourceContents] = WireObjectList("contents", ResourceContents)

    @property
    def text(self) -> str:
        """The text of all parts, joined by line ends."""
        return "\n".join(part.text for part in self.contents if part.text is not None)

    @property
    def data(self) -> bytes:
        """The bytes of all parts, one after the other."""
        return b"".join(part.data for part in self.contents)


class Completion(WireObject):
    """Suggestions for the value of an argument."""

    values: Converted[list[str]] = Converted("values", strings_in, "The suggestions.")
    total: Field[float | None] = Field(
        "total", _NUMBER, None, "How many there are, where the server says it."
    )
    has_more: Field[bool] = Field("hasMore", (bool,), False)


class Progress(WireObject):
    """The progress of a call."""

    progress: Field[float] = Field("progress", _NUMBER, 0.0)
    total: Field[float | None] = Field("total", _NUMBER, None)
    message: Field[str | None] = Field("message", _STRING, None)


class LogMessage(WireObject):
    """A log message of the server."""

    level: Field[str] = Field("level", _STRING, "info")
    logger: Field[str | None] = Field("logger", _STRING, None)
    data: Field[Any] = Field[Any]("data", _ANY, None, "The logged value: any JSON.")
