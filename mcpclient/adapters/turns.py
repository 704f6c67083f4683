"""The messages of prompts and sampling requests, as turns of a user and a model.

A turn holds text and media, calls that the model made, and results of calls. Each provider writes
them in its own shape.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Union

from ..errors import UsageError
from ..protocol.sampling import SamplingMessage, SamplingRequest
from ..protocol.types import (
    CallToolResult,
    Content,
    PromptMessage,
    ToolResultContent,
    ToolUseContent,
)
from .limits import Limits, MediaRules
from .names import NameRule, fit_names, without_surrogates
from .parts import Outcome, Part, Prepared, parts_of, prepared
from .tool_calls import ToolCall


@dataclass(frozen=True)
class MadeCall:
    """A call that the model made. ``name``: the API's name. ``meta``: of the block."""

    id: str
    name: str
    arguments: dict[str, Any]
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class MadeResult:
    """The result of a call; ``name`` is the name of the call."""

    id: str
    name: str
    prepared: Prepared


Item = Union[Part, MadeCall, MadeResult]

_NONE = MediaRules()
# The ids of calls that every API accepts; those of a server may be different.
_IDS = NameRule("a-zA-Z0-9_-", 40)


@dataclass(frozen=True)
class Turn:
    """A message of the model or of the user."""

    of_model: bool
    items: list[Item]

    @property
    def parts(self) -> list[Part]:
        """The text and media."""
        return [item for item in self.items if not isinstance(item, (MadeCall, MadeResult))]

    @property
    def text(self) -> str:
        """The text parts, joined by line ends."""
        return "\n".join(part for part in self.parts if isinstance(part, str))

    @property
    def calls(self) -> list[MadeCall]:
        """The calls."""
        return [item for item in self.items if isinstance(item, MadeCall)]

    @property
    def results(self) -> list[MadeResult]:
        """The results."""
        return [item for item in self.items if isinstance(item, MadeResult)]


def made_results(
    pairs: Iterable[tuple[ToolCall, Outcome]], limits: Limits | None, rules: MediaRules
) -> list[MadeResult]:
    """Return the results of calls within the limits and the media that an API accepts.

    The result of a call with a problem is that problem.
    """
    made = []
    for call, outcome in pairs:
        told = outcome if call.problem is None else UsageError(call.problem)
        name = without_surrogates(call.called_as)
        found = prepared(told, limits or Limits(), rules)
        made.append(MadeResult(without_surrogates(call.id), name, found))
    return made


def joined_by_id(made: Iterable[MadeResult]) -> list[MadeResult]:
    """Return one result for each id, because some APIs refuse two of the same."""
    joined: dict[str, MadeResult] = {}
    for result in made:
        known = joined.setdefault(result.id, result)
        if known is not result:
            known.prepared.parts.extend(result.prepared.parts)
    return list(joined.values())


def turns_of(
    messages: Iterable[PromptMessage | SamplingMessage],
    rules: MediaRules,
    names: dict[str, str] | None = None,
    of_model: MediaRules = _NONE,
) -> list[Turn]:
    """Return messages as turns with the media that an API accepts. Empty messages are left out.

    ``names``: the API's names of tools. ``of_model``: the media that a message of the model may
    have; most APIs accept none there, and a note stands in their place.
    """
    listed = list(messages)
    ids = fit_names((use.id for message in listed for use in _uses(message)), _IDS)
    called: dict[str, MadeCall] = {}
    turns = []
    for message in listed:
        is_of_model = message.role == "assistant"
        taken = of_model if is_of_model else rules
        items = _items(_blocks(message), taken, names or {}, ids, called)
        if items:
            turns.append(Turn(is_of_model, items))
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
        if isinstance(item, MadeCall):
            items.append(f"[called {item.name} with {json.dumps(item.arguments)}]")
        elif isinstance(item, MadeResult):
            items += [f"[the result of {item.name or 'a call'}]", *item.prepared.parts]
        else:
            items.append(item)
    return Turn(turn.of_model, items)


def _blocks(message: PromptMessage | SamplingMessage) -> list[Content]:
    content = message.content
    return content if isinstance(content, list) else [content]


def _uses(message: PromptMessage | SamplingMessage) -> list[ToolUseContent]:
    return [block for block in _blocks(message) if isinstance(block, ToolUseContent)]


def _items(
    blocks: list[Content],
    rules: MediaRules,
    names: Mapping[str, str],
    ids: Mapping[str, str],
    called: dict[str, MadeCall],
) -> list[Item]:
    items: list[Item] = []
    limits = Limits()
    for block in blocks:
        if isinstance(block, ToolUseContent):
            name = names.get(block.name, block.name)
            called[block.id] = MadeCall(ids[block.id], name, block.input, block.meta)
            items.append(called[block.id])
        elif isinstance(block, ToolResultContent):
            call = called.get(block.tool_use_id)
            identity, name = (call.id, call.name) if call else (block.tool_use_id, "")
            outcome = prepared(CallToolResult(block.raw), limits, rules)
            items.append(MadeResult(identity, name, outcome))
        else:
            outcome = prepared(CallToolResult({"content": [block.raw]}), limits, rules)
            items += outcome.parts if parts_of([block]) != [""] else []
    return items
