"""The content of results and prompts in parts that every model API knows: text and media.

Messages are turns of a user and a model: parts, calls that the model made, and results of calls.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Union

from ..errors import McpError, UsageError
from ..errors.network import text_without_output
from ..framing.visible_texts import described_invisible
from ..jsonrpc.codec import parse_json
from ..protocol.sampling import SamplingMessage, SamplingRequest
from ..protocol.types import (
    AudioContent,
    CallToolResult,
    Content,
    EmbeddedResource,
    ImageContent,
    PromptMessage,
    ResourceLink,
    TextContent,
    ToolResultContent,
    ToolUseContent,
)
from .definitions import RawCall, ToolCall
from .limits import (
    Limits,
    Media,
    MediaRules,
    NameRule,
    fit_names,
    limited,
    media_type_of,
    picked_lines,
    token_warning,
    without_surrogates,
)

Part = Union[str, Media]
Outcome = Union[CallToolResult, BaseException, None]
"""The result of a call, or the error it raised; None for a call that was not made."""

ERROR_PREFIX = "Tool error: "
"""The prefix of a failed call's text, for APIs without a field for failures."""

_NOTHING = "[no output]"
_NOT_MADE = "The call was not made."
# Media types that are text.
_TEXT_TYPE = re.compile(r"text/.*|.*\+(json|xml|yaml)|application/(json|xml|yaml|javascript)", re.S)


@dataclass(frozen=True)
class Prepared:
    """The parts of a result for a model, at least one, whether the call failed, and its id."""

    parts: list[Part]
    is_error: bool
    id: str = ""
    name: str = ""

    @property
    def text(self) -> str:
        """The text parts, joined by line ends."""
        return "\n".join(part for part in self.parts if isinstance(part, str))

    @property
    def media(self) -> list[Media]:
        """The parts that are not text."""
        return [part for part in self.parts if isinstance(part, Media)]


def prepared(outcome: Outcome, limits: Limits, rules: MediaRules) -> Prepared:
    """Return the outcome of a call within the limits and the media that an API accepts.

    A long text adds to the result's ``warnings``, and so do invisible characters, of which the
    model gets a note.
    """
    if outcome is None:
        return Prepared([_NOT_MADE], True)
    if isinstance(outcome, BaseException):
        return Prepared([limited(without_surrogates(text_of(outcome)), limits)], True)
    parts = _admitted(_with_structured(outcome, limits), rules, limits.max_image_bytes)
    text = "\n".join(part for part in parts if isinstance(part, str))
    unseen = described_invisible(text)
    unseen = f"the result has {unseen}" if unseen else ""
    for warning in filter(None, (token_warning(text), unseen)):
        if warning not in outcome.warnings:
            outcome.warnings.append(warning)
    if len(text) > limits.max_chars:
        parts = [limited(text, limits), *(part for part in parts if isinstance(part, Media))]
    if unseen:
        parts.append(f"[Note of the client: {unseen}]")
    return Prepared(_joined(parts) or [_NOTHING], outcome.is_error)


def text_of(error: BaseException) -> str:
    """Return the text of an error for a model, without the output of a server process.

    For an error of another library, return only its type, because the message may hold secrets.
    """
    if isinstance(error, McpError):
        return text_without_output(error)
    return type(error).__name__


def parts_of(blocks: Iterable[Content], keep_unknown: bool = True) -> list[Part]:
    """Return content as parts, in order."""
    return [part for block in blocks for part in _parts_of_block(block, keep_unknown)]


def _parts_of_block(block: Content, keep_unknown: bool) -> list[Part]:
    if isinstance(block, TextContent):
        return [block.text]
    if isinstance(block, (ImageContent, AudioContent)):
        return [_media(block.data, block.mime_type)]
    if isinstance(block, ResourceLink):
        return [_reference(block.raw)]
    if isinstance(block, EmbeddedResource):
        resource = block.resource
        if resource.text is None and resource.blob is None:
            return [_reference(resource.raw)]
        part: Part = resource.text or ""
        if resource.text is None:
            part = _media(resource.data, resource.mime_type or "", resource.uri)
        return [_reference(resource.raw), part] if isinstance(part, str) else [part]
    return [_json(block.raw)] if keep_unknown else []


def _reference(resource: Mapping[str, Any]) -> str:
    words = [f"resource {resource.get('uri', '')}"]
    for key in ("name", "title"):
        if isinstance(resource.get(key), str) and resource[key]:
            words.append(f"{key} {_json(resource[key])}")
    return f"[{', '.join(words)}]"


def _media(data: bytes, said: str, name: str = "") -> Part:
    media_type = without_surrogates(media_type_of(data, said))
    if _TEXT_TYPE.fullmatch(media_type):
        return data.decode("utf-8", "replace")
    return Media(media_type, data, without_surrogates(name))


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "[content that is nested too deeply]"


def _with_structured(result: CallToolResult, limits: Limits) -> list[Part]:
    structured = result.structured
    parts = parts_of(result.content, limits.unknown == "keep")
    if structured is None and limits.pick is None:
        return parts
    texts = [part for part in parts if isinstance(part, str)]
    media = [part for part in parts if isinstance(part, Media)]
    if limits.pick is not None and not result.is_error:
        value = parse_json(text := "".join(texts), text) if structured is None else structured
        lines = picked_lines(value, limits.pick) if isinstance(value, (dict, list)) else None
        if lines is not None:
            return [*media, "\n".join(lines)]
    if structured is None:
        return parts
    if limits.structured == "only" and not result.is_error:
        return [*media, _json(structured)]
    is_told = limits.structured != "both" and _repeats(texts, structured)
    return parts if is_told else [*parts, _json(structured)]


def _repeats(texts: Sequence[str], value: object) -> bool:
    """Whether the strings equal a value, as JSON or as strings, without wrappers of one key."""
    meanings = [("\n".join(texts),), *((text, parse_json(text, text)) for text in texts)]
    with suppress(RecursionError):  # a value that is nested too deeply to be compared
        while not any(value in meant for meant in meanings):
            if isinstance(value, list) and value and len(value) == len(texts):
                return all(item in meant for item, meant in zip(value, meanings[1:]))
            if not isinstance(value, dict) or len(value) != 1:
                return False
            (value,) = value.values()
        return True
    return False


def _admitted(parts: Iterable[Part], rules: MediaRules, most_image_bytes: int) -> list[Part]:
    admitted: list[Part] = []
    for part in map(without_surrogates, parts):
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


# Messages of prompts and sampling requests, as turns that providers convert to their own shape


Item = Union[Part, RawCall, Prepared]

_NONE = MediaRules()
# Every API accepts such ids of calls; a server's ids may be different.
_IDS = NameRule("a-zA-Z0-9_-", 40)


@dataclass(frozen=True)
class Turn:
    """A message of the model or of the user."""

    of_model: bool
    items: list[Item]

    @property
    def parts(self) -> list[Part]:
        """The text and media."""
        return [item for item in self.items if not isinstance(item, (RawCall, Prepared))]

    @property
    def text(self) -> str:
        """The text parts, joined by line ends."""
        return "\n".join(part for part in self.parts if isinstance(part, str))

    @property
    def calls(self) -> list[RawCall]:
        """The calls."""
        return [item for item in self.items if isinstance(item, RawCall)]

    @property
    def results(self) -> list[Prepared]:
        """The results."""
        return [item for item in self.items if isinstance(item, Prepared)]


def made_results(
    pairs: Iterable[tuple[ToolCall, Outcome]],
    limits: Limits | None,
    rules: MediaRules,
    joined: bool = False,
) -> list[Prepared]:
    """Return the results of calls within the limits and the media that an API accepts.

    The result of a call with a problem is that problem. ``joined``: return one result for
    each id, because some APIs reject duplicates.
    """
    made: dict[object, Prepared] = {}
    for number, (call, outcome) in enumerate(pairs):
        told = outcome if call.problem is None else UsageError(call.problem)
        found = prepared(told, limits or Limits(), rules)
        name, identity = without_surrogates(call.called_as), without_surrogates(call.id)
        known = made.setdefault(
            identity if joined else number, replace(found, id=identity, name=name)
        )
        if known.parts is not found.parts:
            known.parts.extend(found.parts)
    return list(made.values())


def turns_of(
    messages: Iterable[PromptMessage | SamplingMessage],
    rules: MediaRules,
    names: dict[str, str] | None = None,
    of_model: MediaRules = _NONE,
) -> list[Turn]:
    """Return messages as turns with the media that an API accepts. Empty messages are left out.

    ``names``: the API's names of tools. ``of_model``: the media that a message of the model may
    have; a note replaces others.
    """
    listed, limits = list(messages), Limits()
    ids = fit_names((use.id for message in listed for use in _uses(message)), _IDS)
    called: dict[str, str] = {}
    turns = []
    for message in listed:
        turn = Turn(message.role == "assistant", [])
        taken = of_model if turn.of_model else rules
        for block in _blocks(message):
            if isinstance(block, ToolUseContent):
                name = called[block.id] = (names or {}).get(block.name, block.name)
                turn.items.append(RawCall(ids[block.id], name, block.input, block.meta))
            elif isinstance(block, ToolResultContent):
                asked = block.tool_use_id
                identity = ids[asked] if asked in called else asked
                outcome = prepared(CallToolResult(block.raw), limits, taken)
                turn.items.append(replace(outcome, id=identity, name=called.get(asked, "")))
            elif parts_of([block]) != [""]:
                outcome = prepared(CallToolResult({"content": [block.raw]}), limits, taken)
                turn.items.extend(outcome.parts)
        if turn.items:
            turns.append(turn)
    return turns


def names_of(sampling: SamplingRequest, rule: NameRule) -> dict[str, str]:
    """Return an API's names for the tools of a request and those called in its conversation."""
    names = fit_names((tool.name for tool in sampling.tools), rule)
    for message in sampling.messages:
        for use in _uses(message):
            if use.name not in names:
                names[use.name] = rule.fitted(use.name, names.values())
    return names


def without_calls(turn: Turn) -> Turn:
    """Return a turn with calls and results as text, for a request without tools."""
    items: list[Item] = []
    for item in turn.items:
        if isinstance(item, RawCall):
            items.append(f"[called {item.name} with {json.dumps(item.arguments)}]")
        elif isinstance(item, Prepared):
            items += [f"[the result of {item.name or 'a call'}]", *item.parts]
        else:
            items.append(item)
    return Turn(turn.of_model, items)


def _blocks(message: PromptMessage | SamplingMessage) -> list[Content]:
    content = message.content
    if isinstance(content, list):
        return content
    # Only sampling has calls and results: in a prompt they are content of an unknown type.
    is_call = isinstance(content, (ToolUseContent, ToolResultContent))
    return [Content(content.raw)] if is_call else [content]


def _uses(message: PromptMessage | SamplingMessage) -> list[ToolUseContent]:
    return [block for block in _blocks(message) if isinstance(block, ToolUseContent)]
