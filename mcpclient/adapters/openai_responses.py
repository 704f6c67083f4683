"""OpenAI's Responses API.

Sources: the types of the ``openai`` package 3.54.0 (``types/responses/function_tool_param.py``:
``strict`` and ``parameters`` are required keys; ``types/responses/response_input_item_param.py``;
``types/responses/response_function_call_output_item_list_param.py``: a result may hold text, images
and files). Unless ``strict`` is sent as false, the service makes every optional parameter required.
The rules for names and schemas are those of `openai_chat`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from ..protocol.sampling import SamplingRequest
from .definitions import Definition
from .limits import MediaRules
from .model_api import ModelApi
from .openai_chat import RULES as _CHAT_RULES
from .parts import MadeCall, MadeResult, Part, Turn
from .tool_calls import RawCall, first_present, plain


class _OpenAIResponses(ModelApi):
    name = "OpenAI's Responses API"
    rules = replace(_CHAT_RULES, defers=True)
    media = MediaRules(
        dict.fromkeys(("image/jpeg", "image/png", "image/gif", "image/webp"), "input_image")
        | {"application/pdf": "input_file"},
        {"image": 20_000_000},
    )

    def request(self, sampling: SamplingRequest, model: str) -> dict[str, Any]:
        """Return the arguments of ``client.responses.create`` for a sampling request.

        The API has no stop sequences; those asked for are left out.
        """
        made: dict[str, Any] = {"model": model, "input": self._messages(self._turns(sampling))}
        if sampling.max_tokens is not None:
            made["max_output_tokens"] = max(sampling.max_tokens, 16)  # the service rejects fewer
        if sampling.system_prompt:
            made["instructions"] = sampling.system_prompt
        if sampling.temperature is not None:
            made["temperature"] = sampling.temperature
        if sampling.tools:
            made["tools"] = self.tools(sampling.tools)
            made["tool_choice"] = sampling.tool_choice
        return made

    def _blocks(self, response: object) -> list[Any]:
        whole = plain(response)
        output = whole if isinstance(whole, list) else first_present(whole, "output")
        if not isinstance(output, list):
            raise self._unreadable("output", response)
        return list(map(plain, output))

    def _call_in(self, block: Any) -> RawCall | None:
        if first_present(block, "type") != "function_call":
            return None
        return RawCall(block.get("call_id"), block.get("name"), block.get("arguments"))

    def _texts_in(self, block: Any) -> list[str]:
        parts = first_present(block, "content") if first_present(block, "type") == "message" else []
        texts = [first_present(plain(part), "text", "refusal") for part in parts or []]
        return [text for text in texts if isinstance(text, str)]

    def _stop_reason(self, response: Any) -> Any:
        return "max_tokens" if first_present(response, "status") == "incomplete" else None

    def _definitions(self, defined: list[Definition]) -> list[dict[str, Any]]:
        shaped: list[dict[str, Any]] = [
            {
                "type": "function",
                "name": definition.name,
                "description": definition.description,
                "parameters": definition.schema,
                "strict": definition.strict,
                **({"defer_loading": True} if definition.deferred else {}),
            }
            for definition in defined
        ]
        is_searched = any(definition.deferred for definition in defined)
        return [*shaped, {"type": "tool_search"}] if is_searched else shaped

    def _part(self, part: Part) -> dict[str, Any]:
        if isinstance(part, str):
            return {"type": "input_text", "text": part}
        url = f"data:{part.media_type};base64,{part.base64}"
        if part.kind == "image":
            return {"type": "input_image", "image_url": url, "detail": "auto"}
        return {"type": "input_file", "filename": part.file_name, "file_data": url}

    def _call(self, call: MadeCall) -> dict[str, Any]:
        arguments = json.dumps(call.arguments)
        called = {"call_id": call.id, "name": call.name, "arguments": arguments}
        return {"type": "function_call", **called}

    def _result(self, result: MadeResult) -> dict[str, Any]:
        output = result.prepared.written(self._part)
        return {"type": "function_call_output", "call_id": result.id, "output": output}

    def _results(self, made: list[MadeResult]) -> list[dict[str, Any]]:
        return [self._result(result) for result in made]

    def _messages(self, turns: Iterable[Turn]) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        for turn in turns:
            items += self._results(turn.results)
            if turn.parts:
                parts = turn.text if turn.of_model else [self._part(part) for part in turn.parts]
                items.append({"role": self.roles[turn.of_model], "content": parts})
            items += [self._call(call) for call in turn.calls]
        return items


_API = _OpenAIResponses()
tools: Final = _API.tools
calls: Final = _API.calls
results: Final = _API.results
messages: Final = _API.messages
request: Final = _API.request
answer: Final = _API.answer
