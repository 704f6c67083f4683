"""The content of results and prompts in parts that every model API knows: text and media."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Callable, Union

from ..errors import McpError
from ..errors.network import text_without_output
from ..protocol.types import (
    AudioContent,
    CallToolResult,
    Content,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
)
from .limits import Limits, Media, MediaRules, limited, media_type_of, token_warning
from .names import without_surrogates

Part = Union[str, Media]
Outcome = Union[CallToolResult, BaseException, None]
"""The result of a call, or the error it raised; None for a call that was not made."""

ERROR_PREFIX = "Tool error: "
"""The prefix of a failed call's text, for APIs without a field for failures."""

_NOTHING = "[no output]"
_NOT_MADE = "The call was not made."
# Media types that are text although they do not begin with "text/".
_TEXT_TYPES = ("application/json", "application/xml", "application/yaml", "application/javascript")
# A structure with more values is compared with the text as a whole, not value by value.
_MOST_MENTIONED = 200
_TEXT_ENDINGS = ("+json", "+xml", "+yaml")


@dataclass(frozen=True)
class Prepared:
    """The parts of a result for a model, at least one, and whether the call failed."""

    parts: list[Part]
    is_error: bool

    @property
    def text(self) -> str:
        """The text parts, joined by line ends."""
        return "\n".join(part for part in self.parts if isinstance(part, str))

    def written(self, write: Callable[[Part], dict[str, Any]]) -> str | list[dict[str, Any]]:
        """Return the text or, if there are media, all parts in the shape that ``write`` gives them.

        After a failed call they begin with `ERROR_PREFIX`.
        """
        prefix = ERROR_PREFIX if self.is_error else ""
        if not self.media:
            return prefix + self.text
        return list(map(write, [prefix.strip(), *self.parts] if prefix else self.parts))

    @property
    def media(self) -> list[Media]:
        """The parts that are not text."""
        return [part for part in self.parts if isinstance(part, Media)]


def prepared(outcome: Outcome, limits: Limits, rules: MediaRules) -> Prepared:
    """Return the outcome of a call within the limits and the media that an API accepts.

    A text with many tokens adds to the result's ``warnings``.
    """
    if outcome is None:
        return Prepared([_NOT_MADE], True)
    if isinstance(outcome, BaseException):
        return Prepared([limited(text_of(outcome), limits)], True)
    parts = _with_structured(outcome, limits)
    parts = _admitted(parts, rules, limits.max_image_bytes)
    text = "\n".join(part for part in parts if isinstance(part, str))
    warning = token_warning(text)
    if warning is not None and warning not in outcome.warnings:
        outcome.warnings.append(warning)
    if len(text) > limits.max_chars:
        parts = [limited(text, limits), *(part for part in parts if isinstance(part, Media))]
    return Prepared(_joined(parts) or [_NOTHING], outcome.is_error)


def text_of(error: BaseException) -> str:
    """Return the text of an error for a model, without the output of a server process.

    Of an error that is not this library's, return only its type, because the text may hold secrets.
    """
    if isinstance(error, McpError):
        said: str = without_surrogates(text_without_output(error))
        return said
    return type(error).__name__


def parts_of(blocks: Iterable[Content], keep_unknown: bool = True) -> list[Part]:
    """Return content as parts, in order."""
    return [part for block in blocks for part in _parts_of_block(block, keep_unknown)]


def _parts_of_block(block: Content, keep_unknown: bool) -> list[Part]:
    if isinstance(block, TextContent):
        return [without_surrogates(block.text)]
    if isinstance(block, (ImageContent, AudioContent)):
        return [_media(block.data, block.mime_type)]
    if isinstance(block, ResourceLink):
        return [_reference(block.raw)]
    if isinstance(block, EmbeddedResource):
        resource = block.resource
        if resource.text is None and resource.blob is None:
            return [_reference(resource.raw)]
        part: Part = without_surrogates(resource.text or "")
        if resource.text is None:
            part = _media(resource.data, resource.mime_type or "", resource.uri)
        return [_reference(resource.raw), part] if isinstance(part, str) else [part]
    return [_json(block.raw)] if keep_unknown else []


def _reference(resource: Mapping[str, Any]) -> str:
    """Return the identification of a resource: its URI, and its name and title if it has any."""
    words = [f"resource {resource.get('uri', '')}"]
    for key in ("name", "title"):
        if isinstance(resource.get(key), str) and resource[key]:
            words.append(f"{key} {_json(resource[key])}")
    reference: str = without_surrogates(f"[{', '.join(words)}]")
    return reference


def _media(data: bytes, said: str, name: str = "") -> Part:
    media_type = media_type_of(data, said)
    if (
        media_type.startswith("text/")
        or media_type in _TEXT_TYPES
        or media_type.endswith(_TEXT_ENDINGS)
    ):
        return data.decode("utf-8", "replace")
    return Media(media_type, data, without_surrogates(name))


def _json(value: Any) -> str:
    try:
        text: str = without_surrogates(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        return "[content that is nested too deeply]"
    return text


def _with_structured(result: CallToolResult, limits: Limits) -> list[Part]:
    """Return the content of a result in the form that ``limits.structured`` asks for."""
    structured, form = result.structured, limits.structured
    parts = parts_of(result.content, limits.unknown == "keep")
    if structured is None:
        return parts
    if form == "only" and not result.is_error:
        return [*(part for part in parts if isinstance(part, Media)), _json(structured)]
    texts = [part for part in parts if isinstance(part, str)]
    if form != "both" and (_repeats(texts, structured) or _mentions(texts, structured, limits)):
        return parts
    return [*parts, _json(structured)]


def _repeats(texts: Sequence[str], value: object) -> bool:
    """Whether the strings equal a value, as JSON or as strings, without wrappers of one key."""
    if _says(texts, value):
        return True
    while isinstance(value, dict) and len(value) == 1:
        (value,) = value.values()
        if _says(texts, value) or value == "\n".join(texts):
            return True
    return False


def _mentions(texts: Sequence[str], value: object, limits: Limits) -> bool:
    """Whether the strings contain each string of a value, and each number with its key."""
    said = "\n".join(texts)[: limits.max_chars].lower()
    todo, seen = [("", value)], 0
    while todo:
        (key, inner), seen = todo.pop(), seen + 1
        if isinstance(inner, dict) and inner:
            todo += [(name.lower(), one) for name, one in inner.items()]
        elif isinstance(inner, list) and inner:
            todo += [(key, one) for one in inner]
        elif inner is not None:
            is_long = isinstance(inner, str) and len(inner) > 1
            is_named = is_long or key in said or key.replace("_", " ") in said
            word = (inner if isinstance(inner, str) else _json(inner)).lower()
            bounded = rf"(?<![\w.-]){re.escape(word)}(?!\w|\.\d)"
            if not is_named or word not in said or not re.search(bounded, said):
                return False
        if seen > _MOST_MENTIONED:
            return False
    return bool(said)


def _says(texts: Sequence[str], value: object) -> bool:
    items = value if isinstance(value, list) and len(value) == len(texts) else []
    if items and all(_says([text], item) for text, item in zip(texts, items)):
        return True
    return any(text == value or _parsed(text) == value for text in texts)


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _admitted(parts: Iterable[Part], rules: MediaRules, most_image_bytes: int) -> list[Part]:
    """Return the parts with a note in the place of each one that the API does not accept."""
    admitted: list[Part] = []
    for part in parts:
        refusal = None if isinstance(part, str) else rules.refusal(part, most_image_bytes)
        admitted.append(part if refusal is None else f"[{refusal}]")
    return admitted


def _joined(parts: Iterable[Part]) -> list[Part]:
    """Join adjacent strings, and leave out blank ones, which some APIs reject."""
    joined: list[Part] = []
    for part in parts:
        if isinstance(part, str) and not part.strip():
            continue
        last = joined[-1] if joined else None
        if isinstance(part, str) and isinstance(last, str):
            joined[-1] = f"{last}\n{part}"
        else:
            joined.append(part)
    return joined
