"""Sampling requests and answers in the format of chat completions, which most models understand.

A conversation becomes a list of messages with the roles ``system``, ``user``, ``assistant`` and
``tool``; an answer in that form becomes a sampling result. Source: the format of the OpenAI chat
completions interface, as providers and local runtimes have adopted it. What OpenAI's own service
takes of it, `adapters.openai_chat` knows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...protocol.sampling import SamplingMessage, SamplingRequest
from ...protocol.types import (
    AudioContent,
    Content,
    ImageContent,
    TextContent,
    Tool,
    ToolResultContent,
    ToolUseContent,
)


def chat_messages(request: SamplingRequest) -> list[dict[str, Any]]:
    """Return the conversation as chat messages, the system prompt first."""
    messages: list[dict[str, Any]] = []
    if request.system_prompt:
        messages.append({"role": "system", "content": request.system_prompt})
    for message in request.messages:
        messages += _chat_message(message)
    return messages


def chat_options(request: SamplingRequest, model: str) -> dict[str, Any]:
    """Return the other things the server asks for, by their names in chat completions.

    Always ``model`` and ``max_tokens``; where asked for, ``temperature``, ``stop``, ``tools`` and
    ``tool_choice``.
    """
    options: dict[str, Any] = {"model": model, "max_tokens": request.max_tokens}
    if request.temperature is not None:
        options["temperature"] = request.temperature
    if request.stop_sequences:
        options["stop"] = request.stop_sequences
    if request.tools:
        options["tools"] = [_chat_tool(tool) for tool in request.tools]
        options["tool_choice"] = request.tool_choice
    return options


def answer_from_chat(answer: object) -> object:
    """Turn the answer of a chat model into what `sampling.result_of` takes.

    ``answer``: text, an assistant's message (with ``tool_calls`` where the model wants tools), or a
    whole response with ``choices``, of which the first counts; also as an object with
    ``model_dump``, as SDKs make it. Raises `ValueError` for malformed tool calls.
    """
    dump = getattr(answer, "model_dump", None)
    if callable(dump):
        answer = dump()
    if not isinstance(answer, Mapping):
        return answer
    message = answer
    choices = answer.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        inner = choices[0].get("message")
        finish = {"finish_reason": choices[0].get("finish_reason"), "model": answer.get("model")}
        message = {**(inner if isinstance(inner, Mapping) else {}), **finish}
    calls = message.get("tool_calls")
    if not calls:
        return {key: value for key, value in message.items() if key != "tool_calls"}
    if not isinstance(calls, list):
        raise ValueError("its tool_calls are not a list")
    text = message.get("content")
    said = [{"type": "text", "text": text}] if isinstance(text, str) and text else []
    return {**message, "content": [*said, *(_tool_use(call) for call in calls)]}


def _chat_message(message: SamplingMessage) -> list[dict[str, Any]]:
    results = [block for block in message.content if isinstance(block, ToolResultContent)]
    if results:
        return [
            {"role": "tool", "tool_call_id": result.tool_use_id, "content": _text_of(result)}
            for result in results
        ]
    calls = [_chat_call(block) for block in message.content if isinstance(block, ToolUseContent)]
    if calls:
        return [{"role": message.role, "content": message.text or None, "tool_calls": calls}]
    if all(isinstance(block, TextContent) for block in message.content):
        return [{"role": message.role, "content": message.text}]
    return [{"role": message.role, "content": [_chat_part(block) for block in message.content]}]


def _chat_part(block: Content) -> dict[str, Any]:
    if isinstance(block, TextContent):
        return {"type": "text", "text": block.text}
    if isinstance(block, AudioContent):
        kind = block.mime_type.rpartition("/")[2].replace("mpeg", "mp3").replace("x-wav", "wav")
        audio = {"data": block.raw.get("data", ""), "format": kind}
        return {"type": "input_audio", "input_audio": audio}
    if isinstance(block, ImageContent):
        url = f"data:{block.mime_type};base64,{block.raw.get('data', '')}"
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "text", "text": f"[{block.type}]"}


def _text_of(result: ToolResultContent) -> str:
    """The text of a tool's result; a block that is not text becomes its type in brackets."""
    texts = [
        block.text if isinstance(block, TextContent) else f"[{block.type}]"
        for block in result.content
    ]
    if not texts and result.structured is not None:
        return json.dumps(result.structured, ensure_ascii=False)
    return "\n".join(texts)


def _chat_tool(tool: Tool) -> dict[str, Any]:
    function = {
        "name": tool.name,
        "description": tool.description or "",
        "parameters": tool.input_schema,
    }
    return {"type": "function", "function": function}


def _chat_call(block: ToolUseContent) -> dict[str, Any]:
    function = {"name": block.name, "arguments": json.dumps(block.input, ensure_ascii=False)}
    return {"id": block.id, "type": "function", "function": function}


def _tool_use(call: object) -> dict[str, Any]:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(call, Mapping) or not isinstance(function, Mapping):
        raise ValueError("one of its tool_calls has no function")
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            raise ValueError("the arguments of a tool call are not JSON") from None
    return {
        "type": "tool_use",
        "id": call.get("id"),
        "name": function.get("name"),
        "input": arguments,
    }
