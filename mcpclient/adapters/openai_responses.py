"""OpenAI's Responses API.

Sources: the types of the ``openai`` package 3.54.0 (``types/responses/function_tool_param.py``:
``strict`` and ``parameters`` are required keys; ``types/responses/response_input_item_param.py``;
``types/responses/response_function_call_output_item_list_param.py``: a result may hold text, images
and files). Unless ``strict`` is sent as false, the service makes every optional parameter required.
For the rules of names and schemas see `openai_chat`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, Final

from ..protocol.sampling import SamplingRequest
from .definitions import Definition, RawCall, first_present, plain
from .limits import IMAGES, MediaRules
from .model_api import ModelApi, given
from .openai_chat import RULES as _CHAT_RULES
from .parts import ERROR_PREFIX, Part, Prepared, Turn


class _OpenAIResponses(ModelApi):
    name = "OpenAI's Responses API"
    rules = replace(_CHAT_RULES, defers=True)
    media = MediaRules(
        dict.fromkeys(IMAGES, "input_image") | {"application/pdf": "input_file"},
        {"image": 20_000_000},
    )
    search: ClassVar = {"type": "tool_search"}

    def request(self, sampling: SamplingRequest, model: str) -> dict[str, Any]:
        """Return the arguments of ``client.responses.create`` for a sampling request.

        The API has no stop sequences; those asked for are left out.
        """
        most = sampling.max_tokens
        options = given(
            max_output_tokens=None if most is None else max(most, 16),  # the service rejects fewer
            instructions=sampling.system_prompt,
            temperature=sampling.temperature,
            tools=self.tools(sampling.tools),
            tool_choice=sampling.tool_choice if sampling.tools else None,
        )
        return {"model": model, "input": self._messages(self._turns(sampling)), **options}

    def _said(self, response: object) -> Iterator[str | RawCall]:
        for block in self._listed(plain(response), "output", response):
            kind = first_present(block, "type")
            if kind == "function_call":
                yield RawCall(block.get("call_id"), block.get("name"), block.get("arguments"))
            elif kind == "message":
                for part in first_present(block, "content") or []:
                    text = first_present(plain(part), "text", "refusal")
                    if isinstance(text, str):
                        yield text

    def _stop_reason(self, response: Any) -> Any:
        return "max_tokens" if first_present(response, "status") == "incomplete" else None

    def _definition(self, definition: Definition) -> dict[str, Any]:
        named = {"type": "function", **super()._definition(definition)}
        return {**named, "strict": definition.strict}

    def _part(self, part: Part) -> dict[str, Any]:
        if isinstance(part, str):
            return {"type": "input_text", "text": part}
        url = f"data:{part.media_type};base64,{part.base64}"
        if part.kind == "image":
            return {"type": "input_image", "image_url": url, "detail": "auto"}
        return {"type": "input_file", "filename": part.file_name, "file_data": url}

    def _call(self, call: RawCall) -> dict[str, Any]:
        arguments = json.dumps(call.arguments)
        called = {"call_id": call.id, "name": call.name, "arguments": arguments}
        return {"type": "function_call", **called}

    def _result(self, result: Prepared) -> dict[str, Any]:
        prefix = ERROR_PREFIX if result.is_error else ""
        parts = [prefix.strip(), *result.parts] if prefix else result.parts
        output = list(map(self._part, parts)) if result.media else prefix + result.text
        return {"type": "function_call_output", "call_id": result.id, "output": output}

    def _results(self, made: list[Prepared]) -> list[dict[str, Any]]:
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
convert: Final = _API.convert
calls: Final = _API.calls
results: Final = _API.results
messages: Final = _API.messages
request: Final = _API.request
answer: Final = _API.answer
