"""Google's Gemini API (``generateContent``).

Sources: ``google/genai/types.py`` of google-genai 3.4.0 (``FunctionDeclaration``,
``FunctionResponse``, ``FunctionResponsePart``), the reference of the Gemini API, and error texts of
the service: names of at most 64 characters; no ``$ref`` anywhere inside ``response``; as many
responses as calls, with names and ids as they came; no GIF; at most five stop sequences. Media in a
result are ``functionResponse.parts``, which Gemini takes since version 3. A part's
``thoughtSignature`` stays where it is: append the model's content unchanged.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Callable

from ..protocol.sampling import SamplingRequest
from ..protocol.types import GetPromptResult, Tool
from .definitions import DefinitionRules, ToolDefinitions, define
from .limits import Limits, MediaRules
from .names import NameRule
from .parts import Outcome, Part, Prepared
from .schemas.google_subset import google_subset
from .tool_calls import RawCall, ToolCall, first_present, plain, read_calls, unreadable
from .turns import Item, MadeCall, MadeResult, Turn, made_results, names_of, turns_of

_API = "Google's Gemini API"
# Where a sampling answer keeps what the API signs its calls with.
_SIGNATURE = "mcpclient/thoughtSignature"

_RULES = DefinitionRules(
    names=NameRule("a-zA-Z0-9_-", 64, first="a-zA-Z_"),
    properties=NameRule("a-zA-Z0-9_", 64, first="a-zA-Z_"),
    refused=("oneOf", "anyOf", "allOf", "enum", "const", "not"),
    follows_references=False,
    subset=google_subset,
)
_TYPES = (
    *("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", "application/pdf"),
    *("audio/wav", "audio/mpeg", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac"),
    *("video/mp4", "video/mpeg", "video/webm", "video/quicktime"),
)
_MEDIA = MediaRules(
    {media_type: media_type for media_type in _TYPES},
    # A request with everything in it may have 20 MB.
    {"image": 15_000_000, "audio": 15_000_000, "video": 15_000_000, "document": 15_000_000},
)


def tools(
    tools: Iterable[Tool],
    *,
    strict: bool = False,
    inline_refs: bool | None = None,
    defer: Callable[[Tool], bool] | None = None,
) -> ToolDefinitions:
    """Return the value of ``tools`` in a request: one entry that declares all functions.

    ``strict`` is not used, which ``problems`` says (the API has the calling mode ``VALIDATED``
    instead); ``defer`` does nothing, which they say as well.
    """
    defined = define(tools, _RULES, strict, inline_refs, defer)
    declared = [
        {
            "name": definition.name,
            "description": definition.description,
            "parametersJsonSchema": definition.schema,
        }
        for definition in defined
    ]
    return ToolDefinitions.of([{"functionDeclarations": declared}] if declared else [], defined)


def calls(response: object, tools: Sequence[Mapping[str, Any]] = ()) -> list[ToolCall]:
    """Return the calls in a response (its first candidate), or in a content. See `read_calls`.

    Raises `UsageError` for anything else.
    """
    found = []
    for part in _parts(response):
        call = plain(first_present(part, "functionCall", "function_call"))
        if isinstance(call, Mapping):
            found.append(RawCall(call.get("id"), call.get("name"), call.get("args")))
    return read_calls(found, tools)


def results(
    pairs: Iterable[tuple[ToolCall, Outcome]], limits: Limits | None = None
) -> list[dict[str, Any]]:
    """Return the contents to append: one of the user, with a response for every call."""
    parts = [_result(result) for result in made_results(pairs, limits, _MEDIA)]
    return [{"role": "user", "parts": parts}] if parts else []


def messages(prompt: GetPromptResult) -> list[dict[str, Any]]:
    """Return the messages of a prompt, as contents."""
    return _contents(turns_of(prompt.messages, _MEDIA, of_model=_MEDIA))


def request(sampling: SamplingRequest, model: str) -> dict[str, Any]:
    """Return the arguments of ``client.models.generate_content`` for a sampling request."""
    names = names_of(sampling, _RULES.names)
    config: dict[str, Any] = {}
    if sampling.max_tokens is not None:
        config["maxOutputTokens"] = sampling.max_tokens
    if sampling.system_prompt:
        config["systemInstruction"] = sampling.system_prompt
    if sampling.temperature is not None:
        config["temperature"] = sampling.temperature
    if sampling.stop_sequences:
        config["stopSequences"] = sampling.stop_sequences[:5]
    if sampling.tools:
        mode = {"required": "ANY", "none": "NONE"}.get(sampling.tool_choice, "AUTO")
        config["tools"] = tools(sampling.tools)
        config["toolConfig"] = {"functionCallingConfig": {"mode": mode}}
    contents = _contents(turns_of(sampling.messages, _MEDIA, names, of_model=_MEDIA))
    return {"model": model, "contents": contents, "config": config}


def answer(response: object, sampling: SamplingRequest) -> dict[str, Any]:
    """Return a response as the result of a sampling request."""
    whole = plain(response)
    content: list[dict[str, Any]] = []
    read = iter(calls(whole, tools(sampling.tools)))
    for number, part in enumerate(_parts(whole)):
        text = first_present(part, "text")
        if first_present(part, "functionCall", "function_call") is not None:
            use = next(read).as_tool_use()
            content.append({**use, "id": use["id"] or f"call_{number}", **_signed(part)})
        elif isinstance(text, str) and not first_present(part, "thought"):
            content.append({"type": "text", "text": text})
    reason = first_present(_candidate(whole), "finishReason", "finish_reason")
    stopped = getattr(reason, "value", reason)
    return {
        "content": content or "",
        "model": first_present(whole, "modelVersion", "model_version"),
        "stop_reason": "max_tokens" if stopped == "MAX_TOKENS" else None,
    }


def _candidate(whole: object) -> Any:
    candidates = first_present(whole, "candidates")
    return plain(candidates[0]) if isinstance(candidates, list) and candidates else None


def _parts(response: object) -> list[Any]:
    whole = plain(response)
    content = whole
    if isinstance(whole, Mapping) and "candidates" in whole:
        content = plain(first_present(_candidate(whole), "content"))
        if content is None:  # blocked, or stopped before it began
            return []
    parts = content if isinstance(content, list) else first_present(content, "parts")
    if parts is None and isinstance(content, Mapping) and "role" in content:
        return []
    if not isinstance(parts, list):
        raise unreadable(_API, "candidates", response)
    return [plain(part) for part in parts]


def _result(result: MadeResult) -> dict[str, Any]:
    outcome = result.prepared
    response: dict[str, Any] = {"name": result.name, "response": _response(outcome)}
    if result.id:
        response["id"] = result.id
    if outcome.media:
        response["parts"] = [_part(media) for media in outcome.media]
    return {"functionResponse": response}


def _response(outcome: Prepared) -> dict[str, Any]:
    """Return the text as a string: the API rejects a ``$ref`` in the JSON of an object."""
    text = outcome.text or "See the attached parts."
    return {"error" if outcome.is_error else "output": text}


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, str):
        return {"text": part}
    return {"inlineData": {"mimeType": part.media_type, "data": part.base64}}


def _contents(turns: Iterable[Turn]) -> list[dict[str, Any]]:
    return [
        {
            "role": "model" if turn.of_model else "user",
            "parts": [_item(item) for item in turn.items],
        }
        for turn in turns
    ]


def _item(item: Item) -> dict[str, Any]:
    if isinstance(item, MadeResult):
        return _result(item)
    if isinstance(item, MadeCall):
        call = {"functionCall": {"id": item.id, "name": item.name, "args": item.arguments}}
        signature = item.meta.get(_SIGNATURE)
        return {**call, "thoughtSignature": signature} if signature else call
    return _part(item)


def _signed(part: object) -> dict[str, Any]:
    """Return the signature of a call for the server to keep: the API wants it back."""
    signature = first_present(part, "thoughtSignature", "thought_signature")
    if isinstance(signature, bytes):  # as the SDK has it
        signature = base64.b64encode(signature).decode("ascii")
    return {"_meta": {_SIGNATURE: signature}} if signature else {}
