"""The state that the commands of a shell share, and the shape of a command and of its outcome."""

from __future__ import annotations

import asyncio
import copy
import json
import re
from collections.abc import Awaitable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Callable

from ...client.client import Client
from ...errors import McpError, UsageError
from ...framing.escaping import escape
from ...manager.manager import Manager
from ...manager.server import Server
from ...manager.tools import ManagedTool
from ...protocol.types import CallToolResult, Prompt, Resource
from ...suggestions import did_you_mean, there_are, there_is_no
from ..command import Answer
from ..configured import split_name
from ..render import media_in, pretty_json
from ..screen import Screen
from .words import Word, plain


def content_of(result: CallToolResult) -> bytes | None:
    """Return the JSON of a result, the bytes of its only image, sound or file, or all its text."""
    if result.structured is not None:
        return _json_line(result.structured)
    media = list(media_in(result))
    if len(media) == 1:
        return media[0]
    return f"{result.text}\n".encode("utf-8", "surrogatepass") if result.text else None


def part_of(part: Any) -> Answer:
    """Return a part of the last result, which stays the last result."""
    if isinstance(part, str):
        return Answer(text=escape(part), content=f"{part}\n".encode("utf-8", "surrogatepass"))
    if isinstance(part, (bytes, bytearray)):
        said = f"{len(part)} bytes; write them to a file with: > FILE"
        return Answer(text=said, content=bytes(part))
    value = plain(part)
    return Answer(text=pretty_json(value), content=_json_line(value))


def _json_line(value: Any) -> bytes:
    return json.dumps(value, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


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
    task: asyncio.Task[Answer]

    @property
    def state(self) -> str:
        """``"running"``, ``"done"`` or ``"cancelled"``."""
        if not self.task.done():
            return "running"
        return "cancelled" if self.task.cancelled() else "done"


class Jobs:
    """The lines in the background. ``ended`` is called with each that is done or cancelled."""

    def __init__(self, ended: Callable[[Job], None]) -> None:
        self._jobs: dict[int, Job] = {}
        self._count = 0
        self._ended = ended

    def __iter__(self) -> Iterator[Job]:
        return iter(list(self._jobs.values()))

    @property
    def running(self) -> list[Job]:
        """The jobs that are still running."""
        return [job for job in self if job.state == "running"]

    def start(self, line: str, work: Coroutine[Any, Any, Answer]) -> Job:
        """Start a job and return at once."""
        self._count += 1
        task = asyncio.get_running_loop().create_task(work)
        job = self._jobs[self._count] = Job(self._count, line, task)
        task.add_done_callback(lambda _: self._ended(job))
        ended = [each.number for each in self if each.state != "running"]
        for number in ended[:-_MAX_ENDED]:
            del self._jobs[number]
        return job

    def find(self, number: str) -> Job:
        """Return a job by its number as it was typed. Raises `UsageError`."""
        job = self._jobs.get(int(number)) if number.isdecimal() and len(number) < 10 else None
        if job is None:
            known = there_are(str(job.number) for job in self)
            raise UsageError(f"there is no call {number!r} in the background; {known}")
        return job

    async def close(self) -> None:
        """Cancel every call that still runs, and wait until it has ended."""
        tasks = [job.task for job in self.running]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Session:
    """The state of a shell, between two lines and during one.

    ``is_in_front``: the next line waits for this one; see `behind`. ``server``: the name of the one
    in use. ``result``: the value of `_`, None before the first. ``prompts``,
    ``resources``: those last listed, by server. ``is_over``: the user typed ``quit``.
    """

    def __init__(self, manager: Manager, screen: Screen, jobs: Jobs) -> None:
        self.manager = manager
        self.screen = screen
        self.jobs = jobs
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
