"""Anthropic's Messages API.

Sources: the types of the ``anthropic`` package 2.12.0 (``types/tool_param.py``,
``types/tool_result_block_param.py``, ``types/image_block_param.py``,
``types/document_block_param.py``), "Migrating to API version 2026-10-21" of its documentation (no
``temperature``, no documents in messages of the model), and error messages of the service: names of
tools and of properties at the root (``^[a-zA-Z0-9_.-]{1,64}$``: one bad key makes the whole request
fail), no ``oneOf``, ``allOf`` or ``anyOf`` at the root, images of at most 5,242,880 bytes in
Base64, whose media type must match their bytes, and none in messages of the model; stop
sequences of more than white space; no calls and results where no tools are declared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Final

from ..protocol.sampling import SamplingRequest
from .definitions import DefinitionRules, RawCall, first_present, plain
from .limits import IMAGES, MediaRules, NameRule
from .model_api import ModelApi, given
from .parts import Part, Prepared, without_calls
from .schemas.strict import CLAUDE

# The SDK rejects a larger ``max_tokens`` unless the answer is streamed.
_MOST_TOKENS = 21_333


class _Anthropic(ModelApi):
    name = "Anthropic's Messages API"
    rules = DefinitionRules(
        names=NameRule("a-zA-Z0-9_-", 128),
        properties=NameRule("a-zA-Z0-9_.-", 64),
        refused=("anyOf", "oneOf", "allOf"),
        strict=CLAUDE,
        defers=True,
    )
    media = MediaRules(
        dict.fromkeys(IMAGES, "image") | {"application/pdf": "document"},
        # 5,242,880 characters of Base64.
        {"image": 3_932_160, "document": 32_000_000},
    )
    joins_results = True
    schema = "input_schema"
    search: ClassVar = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}

    def request(self, sampling: SamplingRequest, model: str) -> dict[str, Any]:
        """Return the arguments of ``client.messages.create`` for a sampling request.

        Temperature and blank stop sequences, which the API does not accept, are left out. If the
        server offers no tools, calls in the conversation become text.
        """
        turns = self._turns(sampling)
        choice = {"required": "any"}.get(sampling.tool_choice, sampling.tool_choice)
        return {
            "model": model,
            "max_tokens": min(sampling.max_tokens or 1024, _MOST_TOKENS),
            "messages": self._messages(turns if sampling.tools else map(without_calls, turns)),
            **given(
                system=sampling.system_prompt,
                stop_sequences=[stop for stop in sampling.stop_sequences if stop.strip()],
                tools=self.tools(sampling.tools),
                tool_choice={"type": choice} if sampling.tools else None,
            ),
        }

    def _said(self, response: object) -> Iterator[str | RawCall]:
        whole = plain(response)
        if isinstance(first_present(whole, "content"), str):
            return
        for block in self._listed(whole, "content", response):
            kind = first_present(block, "type")
            if kind == "tool_use":
                yield RawCall(block.get("id"), block.get("name"), block.get("input"))
            elif kind == "text":
                yield first_present(block, "text") or ""

    def _part(self, part: Part) -> dict[str, Any]:
        if isinstance(part, str):
            return {"type": "text", "text": part}
        source = {"type": "base64", "media_type": part.media_type, "data": part.base64}
        return {"type": self.media.taken[part.media_type], "source": source}

    def _call(self, call: RawCall) -> dict[str, Any]:
        return {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}

    def _result(self, result: Prepared) -> dict[str, Any]:
        parts = result.parts
        is_text = len(parts) == 1 and isinstance(parts[0], str)
        content = parts[0] if is_text else [self._part(part) for part in parts]
        block = {"type": "tool_result", "tool_use_id": result.id, "content": content}
        return {**block, "is_error": True} if result.is_error else block


_API = _Anthropic()
tools: Final = _API.tools
convert: Final = _API.convert
calls: Final = _API.calls
results: Final = _API.results
messages: Final = _API.messages
request: Final = _API.request
answer: Final = _API.answer
