"""The commands of the shell, and the state that they share between two lines and during one."""

from __future__ import annotations

import asyncio
import copy
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...client.client import Client
from ...errors import McpError, UsageError
from ...framing.escaping import escape
from ...manager.manager import Manager
from ...manager.server import Server
from ...manager.tools import ManagedTool
from ...protocol.types import Prompt, Resource, Tool
from ...suggestions import did_you_mean, there_are, there_is_no
from .. import commands as outside
from .. import features
from ..arguments import checked_arguments, example_words, parse_arguments, unchecked_arguments
from ..command import Answer, Command
from ..configured import split_name
from ..layout import definitions, table
from ..parsing import parser_of
from ..render import pretty_json
from ..screen import Screen
from .words import Word, plain, quoted, unmet


def part_of(part: Any) -> Answer:
    """Return a part of the last result, which stays the last result."""
    if isinstance(part, str):
        return Answer(text=escape(part))
    if isinstance(part, (bytes, bytearray)):
        return Answer(text=f"{len(part)} bytes")
    return Answer(text=pretty_json(plain(part)))


# The number of finished jobs that stay listed.
_MAX_ENDED = 100


def in_words(error: BaseException) -> str:
    """Return a foreign error, such as one from a hook, in words."""
    return f"{type(error).__name__}: {error}"


@dataclass(frozen=True)
class Job:
    """A line in the background. ``line``: as it was typed, without secret values."""

    number: int
    line: str
    task: asyncio.Future[Answer]

    @property
    def state(self) -> str:
        """``"running"``, ``"done"`` or ``"cancelled"``."""
        if not self.task.done():
            return "running"
        return "cancelled" if self.task.cancelled() else "done"


class Session:
    """The state of a shell.

    ``is_in_front``: the next line waits for this one; see `behind`. ``server``: the name of the one
    in use. ``result``: the value of `_`, None before the first. ``jobs``: the lines in the
    background, by number. ``prompts``, ``resources``: those last listed, by server. ``is_over``:
    the user typed ``quit``.
    """

    def __init__(self, manager: Manager, screen: Screen) -> None:
        self.manager: Manager = manager
        self.screen: Screen = screen
        self.jobs: dict[int, Job] = {}
        self.server: str = next(iter(manager.servers), "")
        self.result: Any = None
        self.prompts: dict[str, dict[str, Prompt]] = {}
        self.resources: dict[str, list[str]] = {}
        self.is_over = False
        self.is_in_front = True

    def behind(self) -> Session:
        """Return a copy for a line in the background, whose changes do not count."""
        copied = copy.copy(self)
        copied.is_in_front = False
        return copied

    @property
    def running(self) -> list[Job]:
        """The lines in the background that have not ended."""
        return [job for job in self.jobs.values() if job.state == "running"]

    def start(self, line: str, work: Awaitable[Answer]) -> Job:
        """Start a line in the background and return at once."""
        number = max(self.jobs, default=0) + 1
        job = self.jobs[number] = Job(number, line, asyncio.ensure_future(work))
        ended = [number for number, each in self.jobs.items() if each.state != "running"]
        for number in ended[:-_MAX_ENDED]:
            del self.jobs[number]
        return job

    def job(self, number: str) -> Job:
        """Return a line in the background by its number as it was typed. Raises `UsageError`."""
        for job in self.jobs.values():
            if str(job.number) == number:
                return job
        known = there_are(map(str, self.jobs))
        raise UsageError(f"there is no call {number!r} in the background; {known}")

    @property
    def last_result(self) -> Any:
        """The value of `_`. Raises `UsageError` before the first result."""
        if self.result is None:
            raise UsageError("there is no result yet")
        return self.result

    def server_named(self, name: str) -> Server:
        """Return a server. Raises `UsageError` for an unknown name."""
        servers = self.manager.servers
        if name in servers:
            return servers[name]
        if not servers:
            raise UsageError("there is no server; name one, or write a configuration")
        raise UsageError(there_is_no("server", name, servers, otherwise=there_are(servers)))

    async def client(self, server: str | None = None) -> Client:
        """Return the client of a server, by default of the one in use, once it is connected.

        Raises the reason why there is no connection, or `CallTimeout`.
        """
        return await self.server_named(self.server if server is None else server).ready(
            request="connecting"
        )

    def tools_of(self, server: str) -> dict[str, ManagedTool]:
        """Return the tools of a server by their own names; none of an unknown server."""
        found = self.manager.servers.get(server)
        return {} if found is None else {tool.raw_name: tool for tool in found.tools}

    def known_tool(self, name: str) -> ManagedTool | None:
        """Return a tool of the server in use, ``server.tool`` or ``server__tool``, or None."""
        server, tool = self.split_name(name)
        own = self.tools_of(self.server).get(name) or self.tools_of(server).get(tool)
        return own or next((each for each in self.manager.tools if each.name == name), None)

    def split_name(self, name: str) -> tuple[str, str]:
        """Return the server and the tool that a name means, whether or not they exist."""
        server, tool = split_name(name, self.manager.servers)
        return (server, tool) if server else (self.server, name)

    def learn(self, listed: Mapping[str, Any]) -> None:
        """Store listed prompts or resources of the server in use."""
        if "prompts" in listed:
            prompts = map(Prompt, listed["prompts"])
            self.prompts[self.server] = {prompt.name: prompt for prompt in prompts}
        if "resources" in listed:
            self.resources[self.server] = [Resource(raw).uri for raw in listed["resources"]]

    async def find_tool(self, name: str, others: Iterable[str] = ()) -> ManagedTool:
        """Return a tool by its name, once its server is connected.

        Raises `UsageError` when there is none, with a suggestion from the tools and ``others``.
        """
        server, tool = self.split_name(name)
        found, problem = self.known_tool(name), ""
        if found is None:
            try:
                await self.client(server)
            except McpError as error:
                problem = f" ({error})"
            found = self.known_tool(name)
        if found is not None:
            return found
        prefix = name[: len(name) - len(tool)]
        known = [*self.tools_of(server), *(() if prefix else others)]
        hint = did_you_mean(tool, known, prefix) or "help lists the commands"
        kind = "tool" if prefix or not others else "command or tool"
        raise UsageError(f"there is no {kind} {name!r}{problem}; {hint}")


@dataclass(frozen=True)
class Builtin:
    """A command of the shell. ``usage``: its words, ``summary``: what it does; both for ``help``.

    ``run`` takes the words behind its name. ``details``: more for ``help NAME``.
    """

    name: str
    usage: str
    summary: str
    run: Callable[[Session, Sequence[Word]], Awaitable[Answer]]
    details: str = ""

    def check(self, words: Sequence[Word]) -> None:
        """Raise `UsageError` for fewer or more words than ``usage`` shows.

        Words in brackets may be missing, and any number may stand for ``...``.
        """
        needed = re.sub(r"\[.*?\]", "", self.usage).split()
        has_more = "..." in self.usage or len(words) <= len(self.usage.split())
        if len(words) < len(needed) or not has_more:
            raise UsageError(f"usage: {self.name} {self.usage}".rstrip())


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
    failure = unmet(words, session.last_result)
    return Answer(text=failure or "", exit_code=0 if failure is None else outside.FAILED)


@_builtin("jobs", "list the calls in the background")
async def _jobs(session: Session, words: Sequence[Word]) -> Answer:
    rows = [(str(job.number), job.state, job.line) for job in session.jobs.values()]
    style = session.screen.style
    return Answer(text=table(("CALL", "STATE", "LINE"), rows, style, "nothing in the background"))


@_builtin("cancel NUMBER", "cancel a call in the background")
async def _cancel(session: Session, words: Sequence[Word]) -> Answer:
    job = session.job(words[0].text)
    if job.task.done():
        raise UsageError(f"call {job.number} has ended already")
    job.task.cancel()
    if job.task is not asyncio.current_task():
        await asyncio.wait({job.task})
    return Answer()


@_builtin("wait [NUMBER]", "wait for a call in the background; _ is its result")
async def _wait(session: Session, words: Sequence[Word]) -> Answer:
    if not words:
        others = {job.task for job in session.running} - {asyncio.current_task()}
        if others:
            await asyncio.wait(others)
        return Answer()
    job = session.job(words[0].text)
    if job.task is asyncio.current_task():
        raise UsageError(f"call {job.number} cannot wait for itself")
    await asyncio.wait({job.task})
    if job.task.cancelled():
        raise UsageError(f"call {job.number} was cancelled")
    error = job.task.exception()
    if error is not None and not isinstance(error, McpError):
        raise UsageError(f"call {job.number} ended with {in_words(error)}")
    return job.task.result()


@_builtin("exit", "end the shell")
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
    return features.answer_of(result, None, screen)


@_builtin("call [--unchecked] TOOL [ARGUMENT ...]", "call a tool; its name alone does that too")
async def _call(session: Session, words: Sequence[Word]) -> Answer:
    texts = [word.text for word in words if word.typed != "--unchecked"]
    if not texts:
        raise UsageError("call needs the name of a tool")
    tool = await session.find_tool(texts[0])
    return await call_tool(session, tool, texts[1:], checked=len(texts) == len(words))


async def _ask(session: Session, name: str, words: Sequence[Word]) -> Answer:
    command = outside.command_named(name)
    assert isinstance(command, Command)
    typed = [word.typed for word in words]
    if not {"-h", "--help"}.isdisjoint(typed):
        raise UsageError(f"write: help {command.name}")
    if typed[len(command.required) :] == ["-"]:
        raise UsageError(_STDIN_IS_TAKEN)
    # A word in quotes, such as a name from a server, is not an option.
    texts = [f"\0{each.text}" if each.typed[:1] in "\"'" else each.text for each in words]
    options = parser_of(command).parse_intermixed_args(texts)
    options.words = [word[1:] if word[:1] == "\0" else word for word in options.words]
    command.check(options)
    answer = await command.function(await session.client(), session.screen, options)
    session.learn(answer.raw)
    return answer


def _as_outside(name: str) -> None:
    """Declare a command of the command line, about the server in use."""
    command = outside.command_named(name)
    assert isinstance(command, Command)
    declare = _builtin(f"{name} {command.usage}".rstrip(), outside.COMMANDS[name])
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
    return Answer(text=features.described(tool, session.screen.style, line), value=tool)


_NOTES = """\
TOOL key=value ...       call a tool: its name is a command
SERVER.TOOL ...          call a tool of another server
LINE &                   in the background: see jobs, cancel, wait
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
