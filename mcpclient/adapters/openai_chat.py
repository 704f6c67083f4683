"""OpenAI's Chat Completions API, and the many that are compatible with it.

Sources: the types of the ``openai`` package 3.54.0 (``types/shared_params/function_definition.py``:
names of at most 64 letters, digits, underscores and dashes;
``types/chat/chat_completion_tool_message_param.py``: results are text;
``types/chat/chat_completion_content_part_param.py``), and error messages of the service: the root
of a schema is an object without ``oneOf``, ``anyOf``, ``allOf``, ``enum``, ``const`` and ``not``;
an array says what its items are; at most 128 tools.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ..protocol.sampling import SamplingRequest
from .definitions import Definition, DefinitionRules, RawCall, first_of, first_present, plain
from .limits import IMAGES, LONE_SURROGATES, MediaRules, NameRule
from .model_api import ModelApi, given
from .parts import ERROR_PREFIX, Part, Prepared, Turn
from .schemas.strict import OPENAI

RULES = DefinitionRules(
    names=NameRule("a-zA-Z0-9_-", 64),
    properties=NameRule(f"^{LONE_SURROGATES}", 256),
    refused=("oneOf", "anyOf", "allOf", "enum", "const", "not"),
    strict=OPENAI,
    most=128,
)
# A message has at least one of these keys.
_MEMBERS = frozenset({"role", "content", "tool_calls"})


class _OpenAIChat(ModelApi):
    name = "OpenAI's Chat Completions API"
    rules = RULES
    media = MediaRules(
        dict.fromkeys(IMAGES, "image")
        | {"audio/wav": "wav", "audio/mpeg": "mp3", "application/pdf": "file"},
        {"image": 20_000_000},
    )

    def request(self, sampling: SamplingRequest, model: str) -> dict[str, Any]:
        """Return the arguments of ``client.chat.completions.create`` for a sampling request."""
        conversation = self._messages(self._turns(sampling))
        if sampling.system_prompt:
            conversation.insert(0, {"role": "system", "content": sampling.system_prompt})
        options = given(
            max_completion_tokens=sampling.max_tokens,
            temperature=sampling.temperature,
            stop=sampling.stop_sequences[:4],
            tools=self.tools(sampling.tools),
            tool_choice=sampling.tool_choice if sampling.tools else None,
        )
        return {"model": model, "messages": conversation, **options}

    def _said(self, response: object) -> Iterator[str | RawCall]:
        message = plain(response)
        if isinstance(message, Mapping) and "choices" in message:
            message = plain(first_present(first_of(message, "choices"), "message"))
        if not isinstance(message, Mapping) or _MEMBERS.isdisjoint(message):
            raise self._unreadable("choices", response)
        calls = first_present(message, "tool_calls") or []
        if not isinstance(calls, list):
            raise self._unreadable("list of tool_calls", response)
        text = first_present(message, "content", "refusal")
        if isinstance(text, str) and text:
            yield text
        for call in map(plain, calls):
            function = plain(first_present(call, "function"))
            name, arguments = (first_present(function, key) for key in ("name", "arguments"))
            yield RawCall(first_present(call, "id"), name, arguments)

    def _stop_reason(self, response: Any) -> Any:
        return first_present(first_of(response, "choices") or response, "finish_reason")

    def _definition(self, definition: Definition) -> dict[str, Any]:
        return {"type": "function", "function": super()._definition(definition)}

    def _part(self, part: Part) -> dict[str, Any]:
        if isinstance(part, str):
            return {"type": "text", "text": part}
        if part.kind == "audio":
            audio = {"data": part.base64, "format": self.media.taken[part.media_type]}
            return {"type": "input_audio", "input_audio": audio}
        url = f"data:{part.media_type};base64,{part.base64}"
        if part.kind == "image":
            return {"type": "image_url", "image_url": {"url": url}}
        return {"type": "file", "file": {"filename": part.file_name, "file_data": url}}

    def _call(self, call: RawCall) -> dict[str, Any]:
        function = {"name": call.name, "arguments": json.dumps(call.arguments)}
        return {"id": call.id, "type": "function", "function": function}

    def _result(self, result: Prepared) -> dict[str, Any]:
        texts = [  # a tool message cannot have media, so they follow in a user message
            part if isinstance(part, str) else f"[{part.description}: see the next message]"
            for part in result.parts
        ]
        text = (ERROR_PREFIX if result.is_error else "") + "\n".join(texts)
        return {"role": "tool", "tool_call_id": result.id, "content": text}

    def _results(self, made: list[Prepared]) -> list[dict[str, Any]]:
        following: list[Part] = []
        for result in made:
            if result.media:
                announced = f"From the result of {result.name or 'the tool'} (call {result.id}):"
                following += [announced, *result.media]
        answers = [self._result(result) for result in made]
        if following:
            answers.append({"role": "user", "content": [self._part(part) for part in following]})
        return answers

    def _messages(self, turns: Iterable[Turn]) -> list[dict[str, Any]]:
        written: list[dict[str, Any]] = []
        for turn in turns:
            written += self._results(turn.results)
            if turn.of_model:
                message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
                if turn.calls:
                    message["tool_calls"] = [self._call(call) for call in turn.calls]
                written.append(message)
            elif turn.parts:
                only_text = all(isinstance(part, str) for part in turn.parts)
                parts = [self._part(part) for part in turn.parts]
                written.append({"role": "user", "content": turn.text if only_text else parts})
        return written


_API = _OpenAIChat()
tools: Final = _API.tools
convert: Final = _API.convert
calls: Final = _API.calls
results: Final = _API.results
messages: Final = _API.messages
request: Final = _API.request
answer: Final = _API.answer
