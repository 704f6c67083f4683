"""Amazon Bedrock's Converse API.

Sources: the service model ``bedrock-runtime`` of botocore 1.44.5 (``ToolSpecification``: names of 1
to 64 characters, descriptions of at least one; ``ToolResultBlock``, ``ImageBlock``,
``DocumentBlock``, ``VideoBlock``; ``Message``: images and documents only from the user, and text
with each document), and error messages of the service: for Claude the rules of Anthropic's API
hold; images have at most 3.75 MB; an error has content; roles alternate; no two documents of a
conversation have the same name; no calls and results where no tools are declared. Binary data is
passed as bytes, as botocore expects. Omit ``toolConfig`` if there are no tools.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ..protocol.sampling import SamplingRequest
from .definitions import Definition, DefinitionRules, RawCall, first_present, plain
from .limits import MediaRules, NameRule
from .model_api import ModelApi, given
from .parts import Part, Prepared, Turn, without_calls
from .schemas.strict import CLAUDE

_WORD = "application/vnd.openxmlformats-officedocument."
# Characters of a document's name; two spaces in a row are not allowed.
_NO_DOCUMENT_NAME = re.compile(r"[^A-Za-z0-9\-()\[\]]+")


class _Bedrock(ModelApi):
    name = "Bedrock's Converse API"
    rules = DefinitionRules(
        names=NameRule("a-zA-Z0-9_-", 64),
        properties=NameRule("a-zA-Z0-9_.-", 64),
        refused=("anyOf", "oneOf", "allOf"),
        strict=CLAUDE,
    )
    media = MediaRules(
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
    joins_results = True
    schema = "inputSchema"

    def request(self, sampling: SamplingRequest, model: str) -> dict[str, Any]:
        """Return the arguments of ``client.converse`` for a sampling request.

        Bedrock cannot forbid tools, so if the server asks for none, none are declared, and calls in
        the conversation become text.
        """
        turns, temperature = self._turns(sampling), sampling.temperature
        has_tools = bool(sampling.tools) and sampling.tool_choice != "none"
        choice = "any" if sampling.tool_choice == "required" else "auto"
        offered = {"tools": self.tools(sampling.tools), "toolChoice": {choice: {}}}
        return {
            "modelId": model,
            "messages": self._messages(turns if has_tools else map(without_calls, turns)),
            "inferenceConfig": given(
                maxTokens=sampling.max_tokens or 1024,
                temperature=None if temperature is None else min(temperature, 1.0),
                stopSequences=sampling.stop_sequences,
            ),
            **given(
                system=[{"text": sampling.system_prompt}] if sampling.system_prompt else None,
                toolConfig=offered if has_tools else None,
            ),
        }

    def _said(self, response: object) -> Iterator[str | RawCall]:
        whole = plain(response)
        output = first_present(whole, "output")
        message = whole if output is None else first_present(output, "message")
        for block in self._listed(message, "content", response):
            call, text = first_present(block, "toolUse"), first_present(block, "text")
            if isinstance(call, Mapping):
                yield RawCall(call.get("toolUseId"), call.get("name"), call.get("input"))
            elif isinstance(text, str):
                yield text

    def _definition(self, definition: Definition) -> dict[str, Any]:
        specification = super()._definition(definition)
        return {"toolSpec": {**specification, "inputSchema": {"json": definition.schema}}}

    def _part(self, part: Part) -> dict[str, Any]:
        if isinstance(part, str):
            return {"text": part}
        word = self.media.taken[part.media_type]
        block: dict[str, Any] = {"format": word, "source": {"bytes": part.data}}
        if part.kind == "document":
            name = _NO_DOCUMENT_NAME.sub(" ", part.name.rpartition("/")[2]).strip()
            block["name"] = name[:100] or "document"
        return {part.kind: block}

    def _call(self, call: RawCall) -> dict[str, Any]:
        return {"toolUse": {"toolUseId": call.id, "name": call.name, "input": call.arguments}}

    def _result(self, result: Prepared) -> dict[str, Any]:
        blocks = [self._part(part) for part in result.parts]
        for number, block in enumerate(blocks, 1):
            _tell_apart(block, f"{result.id} {number}")
        status = "error" if result.is_error else "success"
        return {"toolResult": {"toolUseId": result.id, "content": blocks, "status": status}}

    def _messages(self, turns: Iterable[Turn]) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = []
        for message in super()._messages(turns):
            if messages and messages[-1]["role"] == message["role"]:
                messages[-1]["content"] += message["content"]
            else:
                messages.append(message)
        blocks = [block for message in messages for block in message["content"]]
        for number, block in enumerate(blocks, 1):
            _tell_apart(block, str(number))
        for message in messages:
            keys = {key for block in message["content"] for key in block}
            if "document" in keys and "text" not in keys:
                message["content"].append({"text": "See the attached documents."})
        return messages


def _tell_apart(block: dict[str, Any], place: str) -> None:
    if "document" in block:
        name = f"{block['document']['name']} {place}"
        block["document"]["name"] = _NO_DOCUMENT_NAME.sub(" ", name)


_API = _Bedrock()
tools: Final = _API.tools
convert: Final = _API.convert
calls: Final = _API.calls
results: Final = _API.results
messages: Final = _API.messages
request: Final = _API.request
answer: Final = _API.answer
