"""Google's Gemini API (``generateContent``).

Sources: ``google/genai/types.py`` of google-genai 3.4.0 (``FunctionDeclaration``,
``FunctionResponse``, ``FunctionResponsePart``), the reference of the Gemini API, and error messages
of the service: names of at most 64 characters; no ``$ref`` anywhere inside ``response``; as many
responses as calls, with the same names and ids; no GIF; at most five stop sequences. Media in a
result are ``functionResponse.parts``, which Gemini accepts since version 3. Append the model's
content unchanged, to keep the ``thoughtSignature`` of its parts.

The API has no strict mode (but the calling mode ``VALIDATED``) and no search for tools.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..protocol.sampling import SamplingRequest
from .definitions import (
    DefinitionRules,
    RawCall,
    ToolDefinitions,
    first_of,
    first_present,
    plain,
)
from .limits import MediaRules, NameRule
from .model_api import ModelApi, given
from .parts import Part, Prepared
from .schemas.reduced import google_subset

# The key in a sampling answer for the signatures of the model's calls.
_SIGNATURE = "mcpclient/thoughtSignature"
_TYPES = (
    *("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", "application/pdf"),
    *("audio/wav", "audio/mpeg", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac"),
    *("video/mp4", "video/mpeg", "video/webm", "video/quicktime"),
)


class _Google(ModelApi):
    name = "Google's Gemini API"
    rules = DefinitionRules(
        names=NameRule("a-zA-Z0-9_-", 64, first="a-zA-Z_"),
        properties=NameRule("a-zA-Z0-9_", 64, first="a-zA-Z_"),
        refused=("oneOf", "anyOf", "allOf", "enum", "const", "not"),
        follows_references=False,
        subset=google_subset,
    )
    media = media_of_model = MediaRules(
        {media_type: media_type for media_type in _TYPES},
        # A whole request may have 20 MB.
        dict.fromkeys(("image", "audio", "video", "document"), 15_000_000),
    )
    roles = ("user", "model")
    content = "parts"
    schema = "parametersJsonSchema"

    def request(self, sampling: SamplingRequest, model: str) -> dict[str, Any]:
        """Return the arguments of ``client.models.generate_content`` for a sampling request."""
        mode = {"required": "ANY", "none": "NONE"}.get(sampling.tool_choice, "AUTO")
        calling = {"functionCallingConfig": {"mode": mode}}
        config = given(
            maxOutputTokens=sampling.max_tokens,
            systemInstruction=sampling.system_prompt,
            temperature=sampling.temperature,
            stopSequences=sampling.stop_sequences[:5],
            tools=self.tools(sampling.tools),
            toolConfig=calling if sampling.tools else None,
        )
        contents = self._messages(self._turns(sampling))
        return {"model": model, "contents": contents, "config": config}

    def _said(self, response: object) -> Iterator[str | RawCall]:
        whole = plain(response)
        content = whole
        if isinstance(whole, Mapping) and "candidates" in whole:
            content = plain(first_present(first_of(whole, "candidates"), "content"))
            if content is None:  # blocked, or stopped before it began
                return
        if first_present(content, "role") and first_present(content, "parts") is None:
            return
        for part in self._listed(content, "parts", response):
            call = plain(first_present(part, "functionCall", "function_call"))
            text = first_present(part, "text")
            if isinstance(call, Mapping):
                signature = first_present(part, "thoughtSignature", "thought_signature")
                if isinstance(signature, bytes):  # as the SDK has it
                    signature = base64.b64encode(signature).decode("ascii")
                meta = {_SIGNATURE: signature} if signature else {}
                yield RawCall(call.get("id"), call.get("name"), call.get("args"), meta)
            elif isinstance(text, str) and not first_present(part, "thought"):
                yield text

    def _stop_reason(self, response: Any) -> Any:
        reason = first_present(first_of(response, "candidates"), "finishReason", "finish_reason")
        return "max_tokens" if getattr(reason, "value", reason) == "MAX_TOKENS" else None

    def _listing(self, made: ToolDefinitions) -> list[dict[str, Any]]:
        return [{"functionDeclarations": made.written}] if made.written else []

    def _part(self, part: Part) -> dict[str, Any]:
        if isinstance(part, str):
            return {"text": part}
        return {"inlineData": {"mimeType": part.media_type, "data": part.base64}}

    def _call(self, call: RawCall) -> dict[str, Any]:
        made = {"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}}
        signature = call.meta.get(_SIGNATURE)
        return {**made, "thoughtSignature": signature} if signature else made

    def _result(self, result: Prepared) -> dict[str, Any]:
        # A string: the API rejects a ``$ref`` in the JSON of an object.
        text = result.text or "See the attached parts."
        key = "error" if result.is_error else "output"
        response: dict[str, Any] = {"name": result.name, "response": {key: text}}
        if result.id:
            response["id"] = result.id
        if result.media:
            response["parts"] = [self._part(media) for media in result.media]
        return {"functionResponse": response}


_API = _Google()
tools: Final = _API.tools
convert: Final = _API.convert
calls: Final = _API.calls
results: Final = _API.results
messages: Final = _API.messages
request: Final = _API.request
answer: Final = _API.answer
