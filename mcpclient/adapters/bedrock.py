"""Amazon Bedrock's Converse API.

Sources: the service model ``bedrock-runtime`` of botocore 1.44.5 (``ToolSpecification``: names of
1 to 64 characters, descriptions of at least one; ``ToolResultBlock``, ``ImageBlock``,
``DocumentBlock``, ``VideoBlock``; ``Message``: images and documents only of the user, and text
beside a document), and error texts of the service: for Claude the rules of Anthropic's API hold;
images have at most 3.75 MB; an error has content; roles alternate; no two documents of a
conversation have the same name; no calls and results where no tools are declared. Bytes are given
as bytes, as botocore takes them. Leave ``toolConfig`` out where there are no tools.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any, Callable

from ..protocol.sampling import SamplingRequest
from ..protocol.types import GetPromptResult, Tool
from .definitions import DefinitionRules, ToolDefinitions, define
from .limits import Limits, Media, MediaRules
from .names import NameRule
from .parts import Outcome, Part
from .schemas.strict import CLAUDE
from .tool_calls import RawCall, ToolCall, first_present, plain, read_calls, unreadable
from .turns import Item, MadeCall, MadeResult, Turn, made_results, names_of, turns_of, without_calls

_RULES = DefinitionRules(
    names=NameRule("a-zA-Z0-9_-", 64),
    properties=NameRule("a-zA-Z0-9_.-", 64),
    refused=("anyOf", "oneOf", "allOf"),
    strict=CLAUDE,
)
_WORD = "application/vnd.openxmlformats-officedocument."
_MEDIA = MediaRules(
    {
        **{f"image/{name}": name for name in ("png", "jpeg", "gif", "webp")},
        **{f"video/{name}": name for name in ("mp4", "webm", "mpeg")},
        "video/quicktime": "mov",
        "video/x-matroska": "mkv",
        "application/pdf": "pdf",
        "application/msword": "doc",
        f"{_WORD}wordprocessingml.document": "docx",
        "application/vnd.ms-excel": "xls",
        f"{_WORD}spreadsheetml.sheet": "xlsx",
    },
    {"image": 3_932_160, "document": 4_718_592, "video": 25_000_000},
)
# What the name of a document may have, and no two spaces in a row.
_NO_DOCUMENT_NAME = re.compile(r"[^A-Za-z0-9\-()\[\]]+")


def tools(
    tools: Iterable[Tool],
    *,
    strict: bool = False,
    inline_refs: bool | None = None,
    defer: Callable[[Tool], bool] | None = None,
) -> ToolDefinitions:
    """Return the value of ``toolConfig["tools"]`` in a request.

    ``strict``: as for `anthropic`, whose models take it here. ``defer`` does nothing, which
    ``problems`` says.
    """
    defined = define(tools, _RULES, strict, inline_refs, defer)
    shaped = [
        {
            "toolSpec": {
                "name": definition.name,
                "description": definition.description,
                "inputSchema": {"json": definition.schema},
                **({"strict": True} if definition.strict else {}),
            }
        }
        for definition in defined
    ]
    return ToolDefinitions.of(shaped, defined)


def calls(response: object, tools: Sequence[Mapping[str, Any]] = ()) -> list[ToolCall]:
    """Return the calls in a response, or in a message. See `read_calls`.

    Raises `UsageError` for anything else.
    """
    found = []
    for block in _content(response):
        call = first_present(block, "toolUse")
        if isinstance(call, Mapping):
            found.append(RawCall(call.get("toolUseId"), call.get("name"), call.get("input")))
    return read_calls(found, tools)


def results(
    pairs: Iterable[tuple[ToolCall, Outcome]], limits: Limits | None = None
) -> list[dict[str, Any]]:
    """Return the messages to append: one of the user, with a ``toolResult`` for every id."""
    blocks: dict[str, dict[str, Any]] = {}
    for result in made_results(pairs, limits, _MEDIA):
        block = _result(result)
        known = blocks.setdefault(result.id, block)
        if known is not block:  # the service refuses two results of one id
            known["toolResult"]["content"] += block["toolResult"]["content"]
    return [{"role": "user", "content": list(blocks.values())}] if blocks else []


def messages(prompt: GetPromptResult) -> list[dict[str, Any]]:
    """Return the messages of a prompt; neighbours of one role become one, as the API wants it."""
    return _messages(turns_of(prompt.messages, _MEDIA))


def request(sampling: SamplingRequest, model: str) -> dict[str, Any]:
    """Return the arguments of ``client.converse`` for a sampling request.

    Bedrock always lets the model choose where a server asks for no tools at all: then none are
    declared, and calls in the conversation become text.
    """
    names = names_of(sampling, _RULES.names)
    limits: dict[str, Any] = {"maxTokens": sampling.max_tokens or 1024}
    if sampling.temperature is not None:
        limits["temperature"] = min(sampling.temperature, 1.0)
    if sampling.stop_sequences:
        limits["stopSequences"] = sampling.stop_sequences
    turns = turns_of(sampling.messages, _MEDIA, names)
    has_tools = bool(sampling.tools) and sampling.tool_choice != "none"
    made: dict[str, Any] = {
        "modelId": model,
        "messages": _messages(turns if has_tools else map(without_calls, turns)),
        "inferenceConfig": limits,
    }
    if sampling.system_prompt:
        made["system"] = [{"text": sampling.system_prompt}]
    if has_tools:
        choice = "any" if sampling.tool_choice == "required" else "auto"
        made["toolConfig"] = {"tools": tools(sampling.tools), "toolChoice": {choice: {}}}
    return made


def answer(response: object, sampling: SamplingRequest) -> dict[str, Any]:
    """Return a response as the result of a sampling request."""
    whole = plain(response)
    content: list[dict[str, Any]] = []
    read = iter(calls(whole, tools(sampling.tools)))
    for block in _content(whole):
        if first_present(block, "toolUse") is not None:
            content.append(next(read).as_tool_use())
        elif isinstance(first_present(block, "text"), str):
            content.append({"type": "text", "text": block["text"]})
    return {
        "content": content or "",
        "stop_reason": first_present(whole, "stopReason"),
    }


def _content(response: object) -> list[Any]:
    whole = plain(response)
    message = whole
    if isinstance(whole, Mapping) and "output" in whole:
        message = first_present(whole["output"], "message")
    content = message if isinstance(message, list) else first_present(message, "content")
    if not isinstance(content, list):
        raise unreadable("Bedrock's Converse API", "output", response)
    return [plain(block) for block in content]


def _result(result: MadeResult) -> dict[str, Any]:
    outcome = result.prepared
    return {
        "toolResult": {
            "toolUseId": result.id,
            "content": [
                _part(part, f"{result.id} {number}") for number, part in enumerate(outcome.parts, 1)
            ],
            "status": "error" if outcome.is_error else "success",
        }
    }


def _part(part: Part, place: str) -> dict[str, Any]:
    """Write one part; ``place``, which no other part has, goes into the name of a document."""
    if isinstance(part, str):
        return {"text": part}
    source: dict[str, Any] = {
        "format": _MEDIA.taken[part.media_type],
        "source": {"bytes": part.data},
    }
    if part.kind == "document":
        source["name"] = _document_name(part, place)
    return {part.kind: source}


def _document_name(media: Media, place: str) -> str:
    name = _NO_DOCUMENT_NAME.sub(" ", media.name.rpartition("/")[2]).strip()
    return _NO_DOCUMENT_NAME.sub(" ", f"{name[:100] or 'document'} {place}")


def _messages(turns: Iterable[Turn]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    numbers = count(1)
    for turn in turns:
        role = "assistant" if turn.of_model else "user"
        content = [_item(item, next(numbers)) for item in turn.items]
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += content
        else:
            messages.append({"role": role, "content": content})
    for message in messages:
        keys = {key for block in message["content"] for key in block}
        if "document" in keys and "text" not in keys:
            message["content"].append({"text": "See the attached documents."})
    return messages


def _item(item: Item, number: int) -> dict[str, Any]:
    if isinstance(item, MadeResult):
        return _result(item)
    if isinstance(item, MadeCall):
        return {"toolUse": {"toolUseId": item.id, "name": item.name, "input": item.arguments}}
    return _part(item, str(number))
