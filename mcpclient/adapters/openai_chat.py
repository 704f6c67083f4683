"""OpenAI's Chat Completions API, and the many that are compatible with it.

Sources: the types of the ``openai`` package 3.54.0 (``types/shared_params/function_definition.py``:
names of at most 64 letters, digits, underscores and dashes;
``types/chat/chat_completion_tool_message_param.py``: results are text;
``types/chat/chat_completion_content_part_param.py``), and error texts of the service: the root of a
schema is an object without ``oneOf``, ``anyOf``, ``allOf``, ``enum``, ``const`` and ``not``; an
array says what its items are; at most 128 tools; descriptions of over 1,024 characters are refused
by some models.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Callable

from ..protocol.sampling import SamplingRequest
from ..protocol.types import GetPromptResult, Tool
from .definitions import Definition, DefinitionRules, ToolDefinitions, define
from .limits import Limits, MediaRules
from .names import LONE_SURROGATES, NameRule
from .parts import ERROR_PREFIX, Outcome, Part, Prepared
from .schemas.strict import OPENAI
from .tool_calls import RawCall, ToolCall, first_present, plain, read_calls, unreadable
from .turns import MadeResult, Turn, made_results, names_of, turns_of

_API = "OpenAI's Chat Completions API"

RULES = DefinitionRules(
    names=NameRule("a-zA-Z0-9_-", 64),
    properties=NameRule(f"^{LONE_SURROGATES}", 256),
    refused=("oneOf", "anyOf", "allOf", "enum", "const", "not"),
    needs_items=True,
    strict=OPENAI,
    long_description=1024,
    most=128,
)
_MEDIA = MediaRules(
    dict.fromkeys(("image/jpeg", "image/png", "image/gif", "image/webp"), "image")
    | {"audio/wav": "wav", "audio/mpeg": "mp3", "application/pdf": "file"},
    {"image": 20_000_000},
)
# Tools have no media of their own: those follow in a message, which this text announces.
_FOLLOWS = "[{}: see the next message]"
_ANNOUNCED = "From the result of {} (call {}):"


def tools(
    tools: Iterable[Tool],
    *,
    strict: bool = False,
    inline_refs: bool | None = None,
    defer: Callable[[Tool], bool] | None = None,
) -> ToolDefinitions:
    """Return the value of ``tools`` in a request.

    ``strict``: the model keeps to the schema exactly, for each tool whose schema fits strict mode;
    ``problems`` names the reasons for the others. ``defer`` does nothing, as ``problems`` says.
    """
    defined = define(tools, RULES, strict, inline_refs, defer)
    shaped = [{"type": "function", "function": _function(definition)} for definition in defined]
    return ToolDefinitions.of(shaped, defined)


def calls(response: object, tools: Sequence[Mapping[str, Any]] = ()) -> list[ToolCall]:
    """Return the calls in a response (its first choice), or in a message. See `read_calls`.

    Raises `UsageError` for anything else.
    """
    listed = first_present(_message(response), "tool_calls") or []
    if not isinstance(listed, list):
        raise unreadable(_API, "list of tool_calls", response)
    found = []
    for call in map(plain, listed):
        function = plain(first_present(call, "function"))
        found.append(
            RawCall(
                first_present(call, "id"),
                first_present(function, "name"),
                first_present(function, "arguments"),
            )
        )
    return read_calls(found, tools)


def results(
    pairs: Iterable[tuple[ToolCall, Outcome]], limits: Limits | None = None
) -> list[dict[str, Any]]:
    """Return the messages to append: one of the tool for every call, in order.

    Media cannot be part of those; one message of the user follows and holds them all.
    """
    return _results(made_results(pairs, limits, _MEDIA))


def messages(prompt: GetPromptResult) -> list[dict[str, Any]]:
    """Return the messages of a prompt."""
    return _messages(turns_of(prompt.messages, _MEDIA))


def request(sampling: SamplingRequest, model: str) -> dict[str, Any]:
    """Return the arguments of ``client.chat.completions.create`` for a sampling request."""
    names = names_of(sampling, RULES.names)
    conversation = _messages(turns_of(sampling.messages, _MEDIA, names))
    if sampling.system_prompt:
        conversation.insert(0, {"role": "system", "content": sampling.system_prompt})
    made: dict[str, Any] = {"model": model, "messages": conversation}
    if sampling.max_tokens is not None:
        made["max_completion_tokens"] = sampling.max_tokens
    if sampling.temperature is not None:
        made["temperature"] = sampling.temperature
    if sampling.stop_sequences:
        made["stop"] = sampling.stop_sequences[:4]
    if sampling.tools:
        made["tools"] = tools(sampling.tools)
        made["tool_choice"] = sampling.tool_choice
    return made


def answer(response: object, sampling: SamplingRequest) -> dict[str, Any]:
    """Return a response as the result of a sampling request."""
    whole = plain(response)
    message = _message(whole)
    text = first_present(message, "content", "refusal")
    content: list[dict[str, Any]] = []
    if isinstance(text, str) and text:
        content.append({"type": "text", "text": text})
    content += [call.as_tool_use() for call in calls(message, tools(sampling.tools))]
    return {
        "content": content or "",
        "model": first_present(whole, "model"),
        "stop_reason": first_present(_choice(whole), "finish_reason"),
    }


def _function(definition: Definition) -> dict[str, Any]:
    function = {
        "name": definition.name,
        "description": definition.description,
        "parameters": definition.schema,
    }
    return {**function, "strict": True} if definition.strict else function


def _choice(whole: object) -> Any:
    choices = first_present(whole, "choices")
    return plain(choices[0]) if isinstance(choices, list) and choices else None


def _message(response: object) -> Mapping[str, Any]:
    whole = plain(response)
    message = whole
    if isinstance(whole, Mapping) and "choices" in whole:
        message = plain(first_present(_choice(whole), "message"))
    if not isinstance(message, Mapping) or not message.keys() & {"role", "content", "tool_calls"}:
        raise unreadable(_API, "choices", response)
    return message


def _results(made: Iterable[MadeResult]) -> list[dict[str, Any]]:
    answers: list[dict[str, Any]] = []
    following: list[dict[str, Any]] = []
    for result in made:
        content = _text(result.prepared)
        answers.append({"role": "tool", "tool_call_id": result.id, "content": content})
        if result.prepared.media:
            announced = _ANNOUNCED.format(result.name or "the tool", result.id)
            following += [_part(announced), *map(_part, result.prepared.media)]
    return [*answers, {"role": "user", "content": following}] if following else answers


def _text(outcome: Prepared) -> str:
    texts = [
        part if isinstance(part, str) else _FOLLOWS.format(part.description)
        for part in outcome.parts
    ]
    return (ERROR_PREFIX if outcome.is_error else "") + "\n".join(texts)


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    word = _MEDIA.taken[part.media_type]
    if part.kind == "audio":
        return {"type": "input_audio", "input_audio": {"data": part.base64, "format": word}}
    url = f"data:{part.media_type};base64,{part.base64}"
    if part.kind == "image":
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "file", "file": {"filename": part.file_name, "file_data": url}}


def _messages(turns: Iterable[Turn]) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = []
    for turn in turns:
        if turn.results:
            written += _results(turn.results)
        if turn.of_model:
            written.append(_of_model(turn))
        elif turn.parts:
            only_text = all(isinstance(part, str) for part in turn.parts)
            content: Any = turn.text if only_text else [_part(part) for part in turn.parts]
            written.append({"role": "user", "content": content})
    return written


def _of_model(turn: Turn) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
    if turn.calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for call in turn.calls
        ]
    return message
