"""OpenAI's Responses API.

Sources: the types of the ``openai`` package 3.54.0 (``types/responses/function_tool_param.py``:
``strict`` and ``parameters`` are required keys; ``types/responses/response_input_item_param.py``;
``types/responses/response_function_call_output_item_list_param.py``: a result may hold text, images
and files). Where ``strict`` is not sent as false, the service makes every optional parameter
required. The rules for names and schemas are those of `openai_chat`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Callable

from ..protocol.sampling import SamplingRequest
from ..protocol.types import GetPromptResult, Tool
from .definitions import Definition, ToolDefinitions, define
from .limits import Limits, MediaRules
from .openai_chat import RULES as _CHAT_RULES
from .parts import Outcome, Part
from .tool_calls import RawCall, ToolCall, first_present, plain, read_calls, unreadable
from .turns import MadeResult, Turn, made_results, names_of, turns_of

_RULES = replace(_CHAT_RULES, defers=True)
_MEDIA = MediaRules(
    dict.fromkeys(("image/jpeg", "image/png", "image/gif", "image/webp"), "input_image")
    | {"application/pdf": "input_file"},
    {"image": 20_000_000},
)
_SEARCH = {"type": "tool_search"}


def tools(
    tools: Iterable[Tool],
    *,
    strict: bool = False,
    inline_refs: bool | None = None,
    defer: Callable[[Tool], bool] | None = None,
) -> ToolDefinitions:
    """Return the value of ``tools`` in a request.

    ``strict``: as for `openai_chat`. ``defer``: the tools that the model has to search for;
    OpenAI's own search tool is then added.
    """
    defined = define(tools, _RULES, strict, inline_refs, defer)
    shaped = [_tool(definition) for definition in defined]
    if any(definition.deferred for definition in defined):
        shaped.append(dict(_SEARCH))
    return ToolDefinitions.of(shaped, defined)


def calls(response: object, tools: Sequence[Mapping[str, Any]] = ()) -> list[ToolCall]:
    """Return the calls in a response, or in the items of its output. See `read_calls`.

    Raises `UsageError` for anything else.
    """
    found = [
        RawCall(item.get("call_id"), item.get("name"), item.get("arguments"))
        for item in map(plain, _output(response))
        if isinstance(item, Mapping) and item.get("type") == "function_call"
    ]
    return read_calls(found, tools)


def results(
    pairs: Iterable[tuple[ToolCall, Outcome]], limits: Limits | None = None
) -> list[dict[str, Any]]:
    """Return the input items to append: one ``function_call_output`` for every call."""
    return [_result(result) for result in made_results(pairs, limits, _MEDIA)]


def messages(prompt: GetPromptResult) -> list[dict[str, Any]]:
    """Return the messages of a prompt, as input items."""
    return _items(turns_of(prompt.messages, _MEDIA))


def request(sampling: SamplingRequest, model: str) -> dict[str, Any]:
    """Return the arguments of ``client.responses.create`` for a sampling request.

    The API has no stop sequences; those asked for are left out.
    """
    names = names_of(sampling, _RULES.names)
    made: dict[str, Any] = {
        "model": model,
        "input": _items(turns_of(sampling.messages, _MEDIA, names)),
    }
    if sampling.max_tokens is not None:
        made["max_output_tokens"] = max(sampling.max_tokens, 16)  # fewer are refused
    if sampling.system_prompt:
        made["instructions"] = sampling.system_prompt
    if sampling.temperature is not None:
        made["temperature"] = sampling.temperature
    if sampling.tools:
        made["tools"] = tools(sampling.tools)
        made["tool_choice"] = sampling.tool_choice
    return made


def answer(response: object, sampling: SamplingRequest) -> dict[str, Any]:
    """Return a response as the result of a sampling request."""
    whole = plain(response)
    content: list[dict[str, Any]] = []
    for item in map(plain, _output(whole)):
        parts = first_present(item, "content") if first_present(item, "type") == "message" else []
        for part in map(plain, parts or []):
            text = first_present(part, "text", "refusal")
            if isinstance(text, str):
                content.append({"type": "text", "text": text})
    made = [call.as_tool_use() for call in calls(whole, tools(sampling.tools))]
    cut = first_present(whole, "status") == "incomplete"
    return {
        "content": [*content, *made] or "",
        "model": first_present(whole, "model"),
        "stop_reason": "max_tokens" if cut else None,
    }


def _tool(definition: Definition) -> dict[str, Any]:
    tool = {
        "type": "function",
        "name": definition.name,
        "description": definition.description,
        "parameters": definition.schema,
        "strict": definition.strict,
    }
    return {**tool, "defer_loading": True} if definition.deferred else tool


def _output(response: object) -> list[Any]:
    whole = plain(response)
    output = whole if isinstance(whole, list) else first_present(whole, "output")
    if not isinstance(output, list):
        raise unreadable("OpenAI's Responses API", "output", response)
    return output


def _result(result: MadeResult) -> dict[str, Any]:
    output = result.prepared.written(_part)
    return {"type": "function_call_output", "call_id": result.id, "output": output}


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "input_text", "text": part}
    url = f"data:{part.media_type};base64,{part.base64}"
    if part.kind == "image":
        return {"type": "input_image", "image_url": url, "detail": "auto"}
    return {"type": "input_file", "filename": part.file_name, "file_data": url}


def _items(turns: Iterable[Turn]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for turn in turns:
        items += [_result(result) for result in turn.results]
        if turn.of_model:
            if turn.parts:
                items.append({"role": "assistant", "content": turn.text})
            items += [
                {
                    "type": "function_call",
                    "call_id": call.id,
                    "name": call.name,
                    "arguments": json.dumps(call.arguments),
                }
                for call in turn.calls
            ]
        elif turn.parts:
            items.append({"role": "user", "content": [_part(part) for part in turn.parts]})
    return items
