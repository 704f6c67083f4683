"""What prompts and sampling have in common: messages of a user and a model, in parts.

A message holds text and media, calls that a model made, and results of calls. Each provider writes
those in its own shape.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Union

from ..errors import UsageError
from ..protocol.sampling import SamplingMessage
from ..protocol.types import (
    CallToolResult,
    Content,
    PromptMessage,
    ToolResultContent,
    ToolUseContent,
)
from .clean_text import without_surrogates
from .limits import Limits
from .media import MediaRules
from .parts import Outcome, Part, Prepared, parts_of, prepared
from .tool_calls import ToolCall

__all__ = ["Item", "MadeCall", "MadeResult", "Turn", "made_results", "turns_of"]


@dataclass(frozen=True)
class MadeCall:
    """A call that the model made. ``name`` is the one its API knows; ``meta`` is of the block."""

    id: str
    name: str
    arguments: dict[str, Any]
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class MadeResult:
    """What came of a call; ``name`` is that of the call."""

    id: str
    name: str
    prepared: Prepared


Item = Union[Part, MadeCall, MadeResult]

_NONE = MediaRules()


@dataclass(frozen=True)
class Turn:
    """One message: of the model or, otherwise, of the user."""

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
    """Return what came of calls, within the limits and what an API takes.

    Of a call with a problem, that is its problem.
    """
    return [
        MadeResult(
            without_surrogates(call.id),
            without_surrogates(call.called_as),
            prepared(_outcome(call, outcome), limits or Limits(), rules),
        )
        for call, outcome in pairs
    ]


def _outcome(call: ToolCall, outcome: Outcome) -> Outcome:
    return outcome if call.problem is None else UsageError(call.problem)


def turns_of(
    messages: Iterable[PromptMessage | SamplingMessage],
    rules: MediaRules,
    names: dict[str, str] | None = None,
    of_model: MediaRules = _NONE,
) -> list[Turn]:
    """Return messages as turns, within what an API takes. Those without content are left out.

    ``names``: how the API calls the tools. ``of_model``: which media a message of the model may
    have; most APIs take none there, and a note stands in their place.
    """
    called: dict[str, str] = {}
    turns = []
    for message in messages:
        content = message.content
        blocks = content if isinstance(content, list) else [content]
        is_of_model = message.role == "assistant"
        items = _items(blocks, of_model if is_of_model else rules, names or {}, called)
        if items:
            turns.append(Turn(is_of_model, items))
    return turns


def _items(
    blocks: list[Content], rules: MediaRules, names: dict[str, str], called: dict[str, str]
) -> list[Item]:
    items: list[Item] = []
    limits = Limits()
    for block in blocks:
        if isinstance(block, ToolUseContent):
            called[block.id] = names.get(block.name, block.name)
            items.append(MadeCall(block.id, called[block.id], block.input, block.meta))
        elif isinstance(block, ToolResultContent):
            name = called.get(block.tool_use_id, "")
            outcome = prepared(CallToolResult(block.raw), limits, rules)
            items.append(MadeResult(block.tool_use_id, name, outcome))
        else:
            outcome = prepared(CallToolResult({"content": [block.raw]}), limits, rules)
            items += outcome.parts if parts_of([block]) != [""] else []
    return items
