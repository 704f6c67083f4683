"""Anthropic's Messages API.

Sources: the types of the ``anthropic`` package 2.12.0 (``types/tool_param.py``,
``types/tool_result_block_param.py``, ``types/image_block_param.py``,
``types/document_block_param.py``), "Migrating to API version 2026-10-21" of its documentation (no
``temperature``, no documents in messages of the model), and error texts of the service: names of
tools and of properties at the root (``^[a-zA-Z0-9_.-]{1,64}$``: one bad key fails the whole
request), no ``oneOf``, ``allOf`` or ``anyOf`` at the root, images of at most 5,242,880 bytes in
Base64, whose media type must be that of their bytes, and none in messages of the model; stop
sequences of more than white space; no calls and results where no tools are declared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Callable

from ..protocol.sampling import SamplingRequest
from ..protocol.types import GetPromptResult, Tool
from .definitions import Definition, DefinitionRules, ToolDefinitions, define
from .limits import Limits, Media, MediaRules
from .names import NameRule
from .parts import Outcome, Part, Prepared
from .schemas.strict import CLAUDE
from .tool_calls import RawCall, ToolCall, first_present, plain, read_calls, unreadable
from .turns import Item, MadeCall, MadeResult, Turn, made_results, names_of, turns_of, without_calls

_RULES = DefinitionRules(
    names=NameRule("a-zA-Z0-9_-", 128),
    properties=NameRule("a-zA-Z0-9_.-", 64),
    refused=("anyOf", "oneOf", "allOf"),
    strict=CLAUDE,
    defers=True,
)
_IMAGE = ("image/jpeg", "image/png", "image/gif", "image/webp")
_MEDIA = MediaRules(
    dict.fromkeys(_IMAGE, "image") | {"application/pdf": "document"},
    # 5,242,880 characters of Base64.
    {"image": 3_932_160, "document": 32_000_000},
)
# The SDK refuses to wait for a longer answer that is not streamed.
_MOST_TOKENS = 21_333
_SEARCH = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}


def tools(
    tools: Iterable[Tool],
    *,
    strict: bool = False,
    inline_refs: bool | None = None,
    defer: Callable[[Tool], bool] | None = None,
) -> ToolDefinitions:
    """Return the value of ``tools`` in a request.

    ``strict``: the model keeps to the schema, for each tool whose schema fits strict mode, within
    the limits of a request; ``problems`` names the reasons for the others. ``defer``: the tools
    that the model has to search for; Anthropic's own search tool is then added.
    """
    defined = define(tools, _RULES, strict, inline_refs, defer)
    definitions = [_tool(definition) for definition in defined]
    if any(definition.deferred for definition in defined):
        definitions.insert(0, dict(_SEARCH))
    return ToolDefinitions.of(definitions, defined)


def calls(response: object, tools: Sequence[Mapping[str, Any]] = ()) -> list[ToolCall]:
    """Return the calls in a response, a message, or its content. See `read_calls`.

    Raises `UsageError` for anything else.
    """
    blocks = _content(response)
    found = [
        RawCall(block.get("id"), block.get("name"), block.get("input"))
        for block in map(plain, blocks)
        if isinstance(block, Mapping) and block.get("type") == "tool_use"
    ]
    return read_calls(found, tools)


def results(
    pairs: Iterable[tuple[ToolCall, Outcome]], limits: Limits | None = None
) -> list[dict[str, Any]]:
    """Return the messages to append: one of the user, with a ``tool_result`` for every id."""
    blocks = _results(made_results(pairs, limits, _MEDIA))
    return [{"role": "user", "content": blocks}] if blocks else []


def messages(prompt: GetPromptResult) -> list[dict[str, Any]]:
    """Return the messages of a prompt."""
    return _messages(turns_of(prompt.messages, _MEDIA))


def request(sampling: SamplingRequest, model: str) -> dict[str, Any]:
    """Return the arguments of ``client.messages.create`` for a sampling request.

    The API has no temperature any more, and takes no stop sequence of white space only; those asked
    for are left out. If the server offers no tools, calls in the conversation become text.
    """
    names = names_of(sampling, _RULES.names)
    turns = turns_of(sampling.messages, _MEDIA, names)
    made: dict[str, Any] = {
        "model": model,
        "max_tokens": min(sampling.max_tokens or 1024, _MOST_TOKENS),
        "messages": _messages(turns if sampling.tools else map(without_calls, turns)),
    }
    if sampling.system_prompt:
        made["system"] = sampling.system_prompt
    stops = [sequence for sequence in sampling.stop_sequences if sequence.strip()]
    if stops:
        made["stop_sequences"] = stops
    if sampling.tools:
        made["tools"] = tools(sampling.tools)
        choice = {"required": "any"}.get(sampling.tool_choice, sampling.tool_choice)
        made["tool_choice"] = {"type": choice}
    return made


def answer(response: object, sampling: SamplingRequest) -> dict[str, Any]:
    """Return a response as the result of a sampling request."""
    content: list[dict[str, Any]] = []
    whole = plain(response)
    read = iter(calls(whole, tools(sampling.tools)))
    for block in map(plain, _content(whole)):
        kind = first_present(block, "type")
        if kind == "text":
            content.append({"type": "text", "text": first_present(block, "text") or ""})
        elif kind == "tool_use":
            content.append(next(read).as_tool_use())
    return {
        "content": content or "",
        "model": first_present(whole, "model"),
        "stop_reason": first_present(whole, "stop_reason"),
    }


def _tool(definition: Definition) -> dict[str, Any]:
    tool: dict[str, Any] = {
        "name": definition.name,
        "description": definition.description,
        "input_schema": definition.schema,
    }
    if definition.strict:
        tool["strict"] = True
    return {**tool, "defer_loading": True} if definition.deferred else tool


def _content(response: object) -> list[Any]:
    whole = plain(response)
    content = whole if isinstance(whole, list) else first_present(whole, "content")
    if isinstance(content, str):
        return []
    if not isinstance(content, list):
        raise unreadable("Anthropic's Messages API", "content", response)
    return content


def _results(made: Iterable[MadeResult]) -> list[dict[str, Any]]:
    """Return one block for each id, because the service rejects two of the same."""
    blocks: dict[str, dict[str, Any]] = {}
    for result in made:
        block = _result(result)
        known = blocks.setdefault(result.id, block)
        if known is not block:
            known["content"] = _blocks(known["content"]) + _blocks(block["content"])
    return list(blocks.values())


def _result(result: MadeResult) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": result.id, "content": _inside(result.prepared)}
    return {**block, "is_error": True} if result.prepared.is_error else block


def _inside(outcome: Prepared) -> str | list[dict[str, Any]]:
    return [_part(part) for part in outcome.parts] if outcome.media else outcome.text


def _blocks(content: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, Media):
        source = {"type": "base64", "media_type": part.media_type, "data": part.base64}
        return {"type": _MEDIA.taken[part.media_type], "source": source}
    return {"type": "text", "text": part}


def _messages(turns: Iterable[Turn]) -> list[dict[str, Any]]:
    return [
        {
            "role": "assistant" if turn.of_model else "user",
            "content": [_item(item) for item in turn.items],
        }
        for turn in turns
    ]


def _item(item: Item) -> dict[str, Any]:
    if isinstance(item, MadeResult):
        return _result(item)
    if isinstance(item, MadeCall):
        return {"type": "tool_use", "id": item.id, "name": item.name, "input": item.arguments}
    return _part(item)
