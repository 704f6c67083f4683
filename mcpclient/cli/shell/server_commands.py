"""The commands of the shell that ask a server: those of the command line, on the server in use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...errors import UsageError
from ...manager.tools import ManagedTool
from ...protocol.types import GetPromptResult, Prompt, ReadResourceResult, Tool
from .. import features
from ..arguments import checked_arguments, parse_arguments, unchecked_arguments
from ..command import Answer, Command
from ..parsing import parser_of
from ..results import result_text
from .builtin import Builtin
from .outcome import Finding, found_by
from .session import Session
from .words import Word

_STDIN_IS_TAKEN = "the lines of a shell come from stdin; write the arguments, or @FILE"


async def call_tool(
    session: Session, tool: ManagedTool, words: Sequence[str], *, checked: bool = True
) -> Finding:
    """Call a tool with arguments as they were typed, and ``checked`` against its schema."""
    if list(words) == ["-"]:
        raise UsageError(_STDIN_IS_TAKEN)
    typed = parse_arguments(words)
    values = checked_arguments(Tool(tool.raw), typed) if checked else unchecked_arguments(typed)
    screen = session.screen
    progress = screen.status.update if session.is_in_front else None
    result = await tool.client.call_tool(tool.raw_name, values, on_progress=progress)
    for warning in result.warnings:
        screen.say(f"warning: {warning}")
    text = result_text(result, screen.error_style if result.is_error else screen.style)
    return found_by(Answer(result.raw, text, failed=result.is_error), result)


async def _call(session: Session, words: Sequence[Word]) -> Finding:
    texts = [word.text for word in words if word.typed != "--unchecked"]
    if not texts:
        raise UsageError("call needs the name of a tool")
    tool = await session.find_tool(texts[0])
    return await call_tool(session, tool, texts[1:], checked=len(texts) == len(words))


async def _ask(session: Session, command: Command, words: Sequence[Word]) -> Answer:
    texts = [word.text for word in words]
    if not {"-h", "--help"}.isdisjoint(texts):
        raise UsageError(f"write: help {command.name}")
    if texts[len(command.required) :] == ["-"]:
        raise UsageError(_STDIN_IS_TAKEN)
    options = parser_of(command).parse_intermixed_args(texts)
    work = command.work(options.words, options)
    return await work(await session.client(), session.screen)


def _asking(command: Command, kind: Callable[[Any], Any] = dict) -> Any:
    """Return a function that runs a command of the command line; ``kind`` makes `_` of its raw."""

    async def run(session: Session, words: Sequence[Word]) -> Finding:
        answer = await _ask(session, command, words)
        return found_by(answer, kind(answer.raw))

    return run


async def _tools(session: Session, words: Sequence[Word]) -> Finding:
    """List the tools; a word that is no pattern is looked for anywhere in their names."""
    typed = words[0].text if words else "*"
    pattern = typed if any(character in typed for character in "*?[") else f"*{typed}*"
    answer = await _ask(session, features.TOOLS, [Word(pattern, pattern, 0)])
    return found_by(answer, answer.raw)


async def _tool(session: Session, words: Sequence[Word]) -> Finding:
    tool = Tool((await session.find_tool(words[0].text)).raw)
    return Finding(features.described(tool, session.screen.style), value=tool)


async def _prompts(session: Session, words: Sequence[Word]) -> Finding:
    answer = await _ask(session, features.PROMPTS, words)
    session.prompts[session.server] = [Prompt(raw) for raw in answer.raw["prompts"]]
    return found_by(answer, answer.raw)


async def _resources(session: Session, words: Sequence[Word]) -> Finding:
    answer = await _ask(session, features.RESOURCES, words)
    session.learn_resources(answer.raw["resources"])
    return found_by(answer, answer.raw)


COMMANDS = (
    Builtin("tools", "[PATTERN]", "list the tools, those that fit", _tools, most=1),
    Builtin("tool", "NAME", "say what a tool takes and returns", _tool, least=1, most=1),
    Builtin(
        "call",
        "[--unchecked] TOOL [ARGUMENT ...]",
        "call a tool; its name alone does that too",
        _call,
        least=1,
        most=None,
    ),
    Builtin("resources", "", "list the resources", _resources),
    Builtin("read", "URI", "read a resource", _asking(features.READ, ReadResourceResult), 1, 1),
    Builtin("prompts", "", "list the prompts", _prompts),
    Builtin(
        "prompt",
        "NAME [ARGUMENT ...]",
        "fill in a prompt",
        _asking(features.PROMPT, GetPromptResult),
        least=1,
        most=None,
    ),
    Builtin(
        "complete",
        "NAME ARGUMENT BEGINNING [KNOWN=VALUE ...]",
        "suggest values for an argument",
        _asking(features.COMPLETE),
        least=3,
        most=None,
    ),
    Builtin("info", "", "say who the server is", _asking(features.INFO)),
    Builtin("ping", "", "see whether the server answers", _asking(features.PING)),
)
