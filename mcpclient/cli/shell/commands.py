"""The commands of the shell: its own, those that query the server in use, and ``help``."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from ...client.events.callbacks import LOG_LEVELS
from ...errors import McpError, UsageError
from ...framing.logs import logger_for
from ...manager.tools import ManagedTool
from ...protocol.types import Tool
from ...suggestions import there_are, there_is_no
from .. import main, tools
from ..arguments import checked_arguments, example_words, parse_arguments, unchecked_arguments
from ..command import Answer, Command
from ..parsing import parser_of
from ..render import definitions, table
from .session import Builtin, Session, content_of, in_words
from .words import Word, quoted, unmet

COMMANDS: dict[str, Builtin] = {}
"""Every first word with a meaning of its own."""

Run = Callable[[Session, Sequence[Word]], Awaitable[Answer]]


def _builtin(usage: str, summary: str, details: str = "") -> Callable[[Run], Run]:
    """Return the decorator of a command. ``usage``: its name and the words behind it."""

    def declare(run: Run) -> Run:
        name, _, words = usage.partition(" ")
        COMMANDS[name] = Builtin(name, words, summary, run, details)
        return run

    return declare


@_builtin("servers", "list the servers and their status")
async def _servers(session: Session, words: Sequence[Word]) -> Answer:
    rows = []
    for server in session.manager.servers.values():
        mark = " *" if server.name == session.server else ""
        error = str(server.error or "").partition("\n")[0]
        reason = error or server.config.reason
        about = reason or f"{len(server.tools)} tools"
        rows.append((f"{server.name}{mark}", server.status.value, about))
    return Answer(text=table(("SERVER", "STATUS", ""), rows, session.screen.style))


@_builtin("use SERVER", "change to another server; SERVER.TOOL calls across")
async def _use(session: Session, words: Sequence[Word]) -> Answer:
    server = session.server_named(words[0].text)
    await session.client(server.name)
    session.server = server.name
    return Answer()


@_builtin(
    "expect [not] PATH [==|!=|contains VALUE]",
    "fail unless the last result matches",
    'expect text == "hi"; expect is_error; expect not is_error; expect structured.sum == 3',
)
async def _expect(session: Session, words: Sequence[Word]) -> Answer:
    if session.result is None:
        raise UsageError("there is no result yet")
    failure = unmet(words, session.result)
    return Answer(text=failure or "", exit_code=0 if failure is None else main.FAILED)


@_builtin("jobs", "list the calls in the background")
async def _jobs(session: Session, words: Sequence[Word]) -> Answer:
    rows = [(str(job.number), job.state, job.line) for job in session.jobs]
    style = session.screen.style
    return Answer(text=table(("CALL", "STATE", "LINE"), rows, style, "nothing in the background"))


@_builtin("cancel NUMBER", "cancel a call in the background")
async def _cancel(session: Session, words: Sequence[Word]) -> Answer:
    job = session.jobs.find(words[0].text)
    if job.task.done():
        raise UsageError(f"call {job.number} has ended already")
    job.task.cancel()
    if job.task is not asyncio.current_task():
        await asyncio.wait({job.task})
    return Answer()


@_builtin("wait [NUMBER]", "wait for a call in the background; _ is its result")
async def _wait(session: Session, words: Sequence[Word]) -> Answer:
    if not words:
        others = {job.task for job in session.jobs.running} - {asyncio.current_task()}
        if others:
            await asyncio.wait(others)
        return Answer()
    job = session.jobs.find(words[0].text)
    if job.task is asyncio.current_task():
        raise UsageError(f"call {job.number} cannot wait for itself")
    await asyncio.wait({job.task})
    if job.task.cancelled():
        raise UsageError(f"call {job.number} was cancelled")
    error = job.task.exception()
    if error is not None and not isinstance(error, McpError):
        raise UsageError(f"call {job.number} ended with {in_words(error)}")
    return job.task.result()


@_builtin("quit", "end the shell; so does Ctrl-D")
async def _quit(session: Session, words: Sequence[Word]) -> Answer:
    session.is_over = True
    return Answer()


_STDIN_IS_TAKEN = "the lines of a shell come from stdin; write the arguments, or @FILE"


async def call_tool(
    session: Session, tool: ManagedTool, words: Sequence[str], *, checked: bool = True
) -> Answer:
    """Call a tool with typed arguments, which are ``checked`` against its schema."""
    if list(words) == ["-"]:
        raise UsageError(_STDIN_IS_TAKEN)
    typed = parse_arguments(words)
    values = checked_arguments(Tool(tool.raw), typed) if checked else unchecked_arguments(typed)
    screen = session.screen
    progress = screen.status.update if session.is_in_front else None
    result = await tool.client.call_tool(tool.raw_name, values, on_progress=progress)
    return tools.answer_of(result, None, screen)._replace(content=content_of(result))


@_builtin("call [--unchecked] TOOL [ARGUMENT ...]", "call a tool; its name alone does that too")
async def _call(session: Session, words: Sequence[Word]) -> Answer:
    texts = [word.text for word in words if word.typed != "--unchecked"]
    if not texts:
        raise UsageError("call needs the name of a tool")
    tool = await session.find_tool(texts[0])
    return await call_tool(session, tool, texts[1:], checked=len(texts) == len(words))


async def _ask(session: Session, name: str, words: Sequence[Word]) -> Answer:
    command = main.command_named(name)
    assert isinstance(command, Command)
    texts = [word.text for word in words]
    if not {"-h", "--help"}.isdisjoint(texts):
        raise UsageError(f"write: help {command.name}")
    if texts[len(command.required) :] == ["-"]:
        raise UsageError(_STDIN_IS_TAKEN)
    options = parser_of(command).parse_intermixed_args(texts)
    command.check(options)
    answer = await command.function(await session.client(), session.screen, options)
    session.learn(answer.raw)
    return answer


def _as_outside(name: str) -> None:
    """Declare a command of the command line, about the server in use."""
    command = main.command_named(name)
    assert isinstance(command, Command)
    declare = _builtin(f"{name} {command.usage}".rstrip(), main.COMMANDS[name])
    declare(lambda session, words: _ask(session, name, words))


for _name in ("resources", "read", "prompts", "prompt", "complete", "info", "ping"):
    _as_outside(_name)


@_builtin("tool NAME", "describe the arguments and the result of a tool")
@_builtin("tools [NAME-OR-PATTERN]", "list the tools, or those that match, or describe one")
async def _tools(session: Session, words: Sequence[Word]) -> Answer:
    if not words or not set("*?[").isdisjoint(words[0].text):
        return await _ask(session, "tools", words)
    tool = Tool((await session.find_tool(words[0].text)).raw)
    line = " ".join(map(quoted, example_words(tool)))
    return Answer(text=tools.described(tool, session.screen.style, line), value=tool)


_SERVER_LOG = logger_for("mcpclient.server")


@_builtin("log LEVEL|off", "show the server's log from this level on")
async def _log(session: Session, words: Sequence[Word]) -> Answer:
    level = words[0].text
    if level == "off":
        _SERVER_LOG.setLevel(logging.NOTSET)
        return Answer()
    if level not in LOG_LEVELS:
        known = [*LOG_LEVELS, "off"]
        raise UsageError(there_is_no("level", level, known, otherwise=there_are(known)))
    client = await session.client()
    _SERVER_LOG.setLevel(LOG_LEVELS[level])
    await client.set_log_level(level)
    return Answer()


def end_logging() -> None:
    """Restore the level of the log."""
    _SERVER_LOG.setLevel(logging.NOTSET)


_NOTES = """\
TOOL key=value ...       call a tool: its name is a command
SERVER.TOOL ...          call a tool of another server
LINE &                   in the background: see jobs, cancel, wait
LINE > FILE              write the answer to a file
_   _.content[0].text    the last result, and parts of it
Arguments: key=value, key:=json, key=@file, or all as one JSON object or @file."""


@_builtin("help [COMMAND]", "show this, or describe a command")
async def _help(session: Session, words: Sequence[Word]) -> Answer:
    if words:
        name = words[0].text
        command = COMMANDS.get(name)
        if command is None:
            otherwise = f"for a tool, see: tool {name}"
            raise UsageError(there_is_no("command", name, COMMANDS, otherwise=otherwise))
        told = (f"{name} {command.usage}", command.summary, command.details)
        return Answer(text="\n".join(filter(None, told)))
    rows = [
        (f"{command.name} {command.usage}".strip(), command.summary)
        for command in COMMANDS.values()
    ]
    columns = session.screen.style.columns
    return Answer(text=f"{definitions(sorted(rows), columns and columns - 1)}\n\n{_NOTES}")
