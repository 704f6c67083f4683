"""Sampling: requests of a server for a language model, and the answers it can be sent.

Sources: the "Sampling" pages of all revisions, and ``CreateMessageRequest`` and
``CreateMessageResult`` in ``schema.ts``. From revision 2025-11-25 on, content is one block or a
list of blocks, and tools may be used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..errors import ProtocolViolation
from .types import Content, TextContent, Tool, ToolResultContent, ToolUseContent, content_block
from .wire_object import (
    Converted,
    Field,
    ServerRequest,
    WireObject,
    WireObjectList,
    object_in,
    objects_in,
    string_at,
    strings_in,
)

UNKNOWN_MODEL = "unknown"
"""The model in the result, where one is required, when the handler names none."""

# The names of stop reasons in the APIs of models, and in the protocol.
_STOP_REASONS = {
    **dict.fromkeys(("end_turn", "stop"), "endTurn"),
    **dict.fromkeys(("length", "max_tokens"), "maxTokens"),
    **dict.fromkeys(("function_call", "tool_calls", "tool_use"), "toolUse"),
    "stop_sequence": "stopSequence",
}

# The strings that a block of each type must have.
_BLOCK_FIELDS = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "tool_use": ("id", "name"),
    "tool_result": ("toolUseId",),
}


def _listed(content: object) -> list[Any]:
    return content if isinstance(content, list) else [content]


class SamplingMessage(WireObject):
    """One message of the conversation: of the ``user`` or the ``assistant``."""

    role: Field[str] = Field("role", (str,), "")

    @property
    def content(self) -> list[Content]:
        """The content blocks; the single block of earlier revisions is a list of one."""
        return list(map(content_block, objects_in(_listed(self.raw.get("content")))))

    @property
    def text(self) -> str:
        """The text of all text blocks, joined by line ends."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextContent))


class SamplingRequest(ServerRequest):
    """A request of the server for a language model."""

    messages: WireObjectList[SamplingMessage] = WireObjectList(
        "messages", SamplingMessage, "The conversation, oldest first."
    )
    system_prompt: Field[str | None] = Field("systemPrompt", (str,), None)
    temperature: Field[float | None] = Field("temperature", (int, float), None)
    include_context: Field[str] = Field(
        "includeContext", (str,), "none", "Deprecated; may be ignored."
    )
    metadata: Field[dict[str, Any] | None] = Field(
        "metadata", (dict,), None, "For one provider or another."
    )
    tools: WireObjectList[Tool] = WireObjectList(
        "tools", Tool, "Tools the model may ask for; the server runs them."
    )
    stop_sequences: Converted[list[str]] = Converted(
        "stopSequences", strings_in, "Strings at which generation ends."
    )
    model_preferences: Converted[dict[str, Any]] = Converted(
        "modelPreferences",
        object_in,
        "``costPriority``, ``speedPriority`` and ``intelligencePriority`` (0 to 1), ``hints``.",
    )

    @property
    def max_tokens(self) -> int | None:
        """The most tokens to generate; a handler must respect it."""
        value = self.raw.get("maxTokens")
        if isinstance(value, float) and math.isfinite(value):
            return int(value)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    @property
    def tool_choice(self) -> str:
        """Whether tools are used: ``"auto"``, ``"required"`` or ``"none"``."""
        return string_at(self.raw, "toolChoice", "mode") or "auto"

    @property
    def model_hints(self) -> list[str]:
        """Parts of the names of models that the server would like, best first."""
        hints = objects_in(self.model_preferences.get("hints"))
        return strings_in([hint.get("name") for hint in hints])


def check_request(request: SamplingRequest, *, tools: bool) -> None:
    """Raise `ProtocolViolation` for a request that breaks the rules of sampling.

    ``tools``: whether the use of tools was declared. Source: "Message Content Constraints" and
    "Error Handling", 2025-11-25.
    """
    listed, messages = request.raw.get("messages"), request.messages
    blocks = [block for message in messages for block in _listed(message.raw.get("content"))]
    is_whole = isinstance(listed, list) and len(listed) == len(messages)
    if (
        not is_whole
        or not all(isinstance(block, dict) for block in blocks)
        or not all(message.role in ("user", "assistant") for message in messages)
    ):
        raise ProtocolViolation("sampling/createMessage came without messages of users and models")
    if not tools and ("tools" in request.raw or "toolChoice" in request.raw):
        raise ProtocolViolation("the use of tools in sampling was not declared")
    awaited: set[str] = set()
    for message in messages:
        results = [block for block in message.content if isinstance(block, ToolResultContent)]
        if results and len(results) != len(message.content):
            raise ProtocolViolation("tool results mixed with other content in sampling")
        if awaited - {result.tool_use_id for result in results}:
            raise ProtocolViolation("tool result missing in sampling")
        awaited = {block.id for block in message.content if isinstance(block, ToolUseContent)}
        if (results and message.role != "user") or (awaited and message.role != "assistant"):
            raise ProtocolViolation(f"tool calls or results of the wrong role, {message.role}")
    if awaited:
        raise ProtocolViolation("tool result missing in sampling")


def result_of(answer: object, model: str = UNKNOWN_MODEL) -> dict[str, Any]:
    """Turn the return value of a handler into the result for the server.

    ``answer`` is a string, or a mapping with ``content`` (a string, a block, or a list of these)
    and, where known, ``model``, ``role`` and ``stopReason``; the last may be called ``stop_reason``
    or ``finish_reason``, and be given in the words of models' own interfaces. ``model`` is used
    where the answer names none. Raises `ValueError` with the reason for anything else.
    """
    if isinstance(answer, str):
        answer = {"content": answer}
    if not isinstance(answer, Mapping):
        raise ValueError(f"it is neither text nor a mapping but {type(answer).__name__}")
    blocks = [_checked_block(block) for block in _listed(answer.get("content"))]
    if not blocks:
        raise ValueError("it has no content")
    result = {key: answer[key] for key in ("_meta",) if key in answer}
    result["role"] = answer.get("role", "assistant")
    # A single block is not put into a list: revisions before 2025-11-25 require that.
    result["content"] = blocks[0] if len(blocks) == 1 else blocks
    result["model"] = answer.get("model") or model
    uses_tools = any(block["type"] == "tool_use" for block in blocks)
    names = ("stopReason", "stop_reason", "finish_reason")
    reason = next((answer[name] for name in names if answer.get(name) is not None), None)
    reason = _STOP_REASONS.get(reason, reason) if isinstance(reason, str) else reason
    result["stopReason"] = reason or ("toolUse" if uses_tools else "endTurn")
    for key in ("role", "model", "stopReason"):
        if not isinstance(result[key], str):
            raise ValueError(f"its {key} is not text")
    return result


def _checked_block(block: object) -> dict[str, Any]:
    if isinstance(block, str):
        block = {"type": "text", "text": block}
    if isinstance(block, WireObject):
        block = block.raw
    if not isinstance(block, Mapping):
        raise ValueError("its content is neither text, a block, nor a list of blocks")
    kind = block.get("type")
    fields = _BLOCK_FIELDS.get(kind) if isinstance(kind, str) else None
    if fields is None:
        raise ValueError(f"sampling has no content of type {kind!r}")
    for field in fields:
        if not isinstance(block.get(field), str):
            raise ValueError(f"its {kind} content has no {field}")
    if kind == "tool_use" and not isinstance(block.get("input"), Mapping):
        raise ValueError("its tool_use content has no input")
    return dict(block)
