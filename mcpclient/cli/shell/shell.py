"""The shell, which runs lines and shows their outcomes."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable

from ...client.connection.target_names import short_name
from ...config.config import ServerConfig
from ...errors import McpError, ServersFailed, UsageError
from ...manager.manager import Manager
from ...net.process.signals import ctrl_c_calls
from ...net.user_folders import state_folder
from ...protocol.types import Prompt
from ..asking import Asking
from ..command import Answer, LocalCommand, flag
from ..commands import CANCELLED, FAILED
from ..configured import load
from ..connecting import answers_of, with_options
from ..layout import fill, one_line
from ..parsing import is_named, only_server
from ..running import error_text, exit_code, shown_error
from ..screen import Screen
from .commands import COMMANDS, Job, Session, call_tool, in_words, part_of
from .lines import History, Lines, open_lines, without_secrets
from .words import (
    Word,
    candidates,
    fitting,
    follow_path,
    is_path,
    parse_line,
    parse_path,
    split_words,
    typing_at,
)

_CANCELLED = Answer(text="cancelled", exit_code=CANCELLED)

# The wait for suggestions of a server while the user types, in seconds.
_SUGGESTION_SECONDS = 2.0


def _are_arguments(words: Sequence[Word]) -> bool:
    return bool(words) and all(re.match(r"[^\W\d][\w.-]*:?=(?!=)", word.typed) for word in words)


class Shell:
    """A shell that runs lines on the servers of an open manager.

    ``history``: the file that keeps the lines; None: they are kept for this session only.
    ``lines``: where `run` reads from, by default stdin: a terminal with an editor where there is
    one, or a script. ``asking``: asks the user the questions of servers, in the same terminal.
    """

    def __init__(
        self,
        manager: Manager,
        screen: Screen,
        *,
        history: str | os.PathLike[str] | None = None,
        lines: Lines | None = None,
        asking: Asking | None = None,
    ) -> None:
        self._session = Session(manager, screen)
        self._screen = screen
        self._lines = lines
        self._history_path = history
        self._front: asyncio.Task[Answer] | None = None
        self._asking = asking or Asking(screen, "decline")

    # Lines

    async def run_line(self, line: str) -> Answer:
        """Run a line. Errors are answers, with the exit codes of the command line."""
        try:
            return await self._run_line(line)
        except Exception as error:
            return self._failed(error)

    def _failed(self, error: BaseException) -> Answer:
        if isinstance(error, McpError):
            code, text = exit_code(error), error_text(error, stderr_was_shown=True)
        else:  # raised by a hook of the program
            code, text = FAILED, in_words(error)
        return Answer(text=shown_error(text, self._screen.error_style), exit_code=code)

    async def _run_line(self, text: str) -> Answer:
        words, in_background = parse_line(text)
        if not words:
            return Answer()
        if in_background:
            work = self._perform(words, self._session.behind())
            job = self._session.start(self._public(text), work)
            job.task.add_done_callback(lambda _: self._job_ended(job))
            return Answer(text=f"[{job.number}]")
        answer = await self._perform(words, self._session)
        if answer.value is not None or answer.raw:
            self._session.result = answer.raw if answer.value is None else answer.value
        return answer

    async def _perform(self, words: Sequence[Word], session: Session) -> Answer:
        name, rest = words[0].text, words[1:]
        if is_path(name):
            if rest:
                raise UsageError(f"nothing may follow {name}; put a name with spaces in quotes")
            return part_of(follow_path(session.last_result, parse_path(name)))
        command = COMMANDS.get(name)
        if command is not None and session.known_tool(name) is not None and _are_arguments(rest):
            command = None  # the tool of this name is meant
        if command is not None:
            try:
                command.check(rest)
            except UsageError as error:
                if session.known_tool(name) is not None:
                    error.advise(f"The tool of this name is called with: call {name} …")
                raise
            return await command.run(session, rest)
        tool = await session.find_tool(name, COMMANDS)
        return await call_tool(session, tool, [word.text for word in rest])

    def _public(self, line: str) -> str:
        return without_secrets(line.strip(), self._schema_of)

    def _schema_of(self, words: Sequence[Word]) -> Any:
        """Return the schema of the known tool that a line calls, otherwise None."""
        texts = [word.text for word in words]
        name = next(iter(texts[1:] if texts[:1] == ["call"] else texts), "")
        tool = self._session.known_tool(name)
        return None if tool is None else tool.input_schema

    def _is_known(self, line: str) -> bool:
        """Whether a line names a known command or tool: only then are its secrets recognised."""
        words = split_words(line, unfinished=True)
        if not words or self._schema_of(words) is not None:
            return True
        name = words[0].text
        return name != "call" and (name in COMMANDS or is_path(name))

    def _job_ended(self, job: Job) -> None:
        text = self._outcome_of(job).text
        self._screen.say_safely(f"[{job.number}] {one_line(job.line)}: {text}")

    def _outcome_of(self, job: Job) -> Answer:
        if job.task.cancelled():
            return _CANCELLED
        error = job.task.exception()
        return job.task.result() if error is None else self._failed(error)

    # Completion

    def complete(self, line: str, cursor: int) -> list[str]:
        """Return the candidates at the cursor that are known without asking a server."""
        return candidates(typing_at(line, cursor), self._session, COMMANDS)

    async def suggest(self, line: str, cursor: int) -> list[str]:
        """Return the candidates of `complete`, and the server's for an argument of a prompt."""
        typing, session = typing_at(line, cursor), self._session
        command, *given = [word.text for word in typing.words] or [""]
        with suppress(McpError):  # the user is typing, so errors wait for the call itself
            if command == "prompt" and session.server not in session.prompts:
                await COMMANDS["prompts"].run(session, ())
            if command == "read" and session.server not in session.resources:
                await COMMANDS["resources"].run(session, ())
        found = self.complete(line, cursor)
        name, separator, value = typing.word.partition("=")
        if command == "prompt" and given and separator:
            pairs = (word.partition("=") for word in given[1:])
            context = {key: text for key, known, text in pairs if known}
            with suppress(McpError):
                prompt, client = Prompt({"name": given[0]}), await session.client()
                suggested = await client.complete(prompt, name, value, context=context)
                words = (f"{name}={each} " for each in suggested.values)
                found += fitting(words, f"{name}=")
        return found

    def _editing(self, loop: asyncio.AbstractEventLoop) -> Any:

        def complete(line: str, cursor: int) -> list[str]:
            asked = asyncio.run_coroutine_threadsafe(self.suggest(line, cursor), loop)
            try:
                found = asked.result(_SUGGESTION_SECONDS)
            except Exception:
                asked.cancel()
                found = self.complete(line, cursor)
            start = typing_at(line, cursor).start
            behind_space = max(line.rfind(space, start, cursor) for space in " \t") + 1
            skipped = max(behind_space - start, 0)
            return [each[skipped:] for each in found]

        return complete

    # The whole of it

    async def run(self, report: Callable[[str, Answer], None] | None = None) -> int:
        """Read and run lines until they end, and return an exit code.

        ``report`` takes each line, without secrets, and its outcome; by default that is shown.

        A failed line ends a script with its exit code; an interactive shell continues. Ctrl-C
        cancels only the call in front. At the end, a script waits for its calls in the background;
        an interactive shell cancels them.
        """
        history = History(self._history_path)
        lines = self._lines or open_lines(
            self._screen, self._editing(asyncio.get_running_loop()), history
        )
        with ctrl_c_calls(lambda: self._interrupt(lines)):
            try:
                code = await self._run_all(lines, history, report or self._show)
            finally:
                await self._run_out(cancel=True)
        return code

    def _interrupt(self, lines: Lines) -> None:
        self._asking.leave()
        if self._front is not None:
            self._front.cancel()
        else:
            lines.interrupt()

    async def _run_all(
        self, lines: Lines, history: History, report: Callable[[str, Answer], None]
    ) -> int:
        number = 0
        while not self._session.is_over:
            async with self._asking.turn:
                line = await lines.read(f"{one_line(self._session.server) or 'mcp'}> ")
            if line is None:
                break
            number += 1
            public = self._public(line)
            if lines.is_interactive:
                history.add(public, is_kept=self._is_known(line))
            outcome = await self._run_in_front(line)
            if outcome.exit_code and not lines.is_interactive:
                self._screen.say(f"line {number}: {public}")
                report(public, outcome)
                return outcome.exit_code
            report(public, outcome)
        return 0 if lines.is_interactive else await self._run_out()

    async def _run_in_front(self, line: str) -> Answer:
        self._front = asyncio.ensure_future(self.run_line(line))
        try:
            async with self._screen.status:
                await asyncio.wait({self._front})
            if self._front.cancelled():
                return _CANCELLED
            return self._front.result()
        finally:
            self._front.cancel()
            self._front = None

    async def _run_out(self, *, cancel: bool = False) -> int:
        """Wait for the calls in the background; return the first exit code that is not 0."""
        tasks = [job.task for job in self._session.running]
        for task in tasks if cancel else ():
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        ended = self._session.jobs.values()
        outcomes = (self._outcome_of(job) for job in ended if job.state == "done")
        return next((outcome.exit_code for outcome in outcomes if outcome.exit_code), 0)

    def _show(self, line: str, outcome: Answer) -> None:
        if outcome.exit_code:
            self._screen.say_safely(outcome.text)
        else:
            self._screen.show(fill(outcome.text, self._screen.style.columns))
        for note in outcome.notes:
            self._screen.say(note)


def history_file() -> Path:
    """Return the file of this user's history."""
    return state_folder(os.environ) / "shell_history"


_NONE = "no server is configured: name one, as in: mcpclient shell URL, or shell -- COMMAND"


@LocalCommand(
    "shell",
    usage="[SERVER | -- SERVER-COMMAND ...] [< FILE]",
    options=(flag("--no-history", "do not keep typed lines for later sessions"),),
    takes_server=True,
    details="Without a server: all that are configured. The name of a tool is a command; help "
    "lists the others. Lines from a file or a pipe are a script: it stops at the first line that "
    "fails, with the exit code of that line. With --json, all lines and their results are one "
    "document at the end.\n\n"
    "examples:\n"
    "  mcpclient shell http://localhost:3001/mcp\n"
    "  mcpclient shell -- npx -y my-server\n"
    "  mcpclient shell my-server < smoke-test.txt",
)
def _shell(screen: Screen, options: argparse.Namespace) -> Awaitable[Answer]:
    if is_named(options):
        server = only_server(options)
        given = dict(server.options)
        name = given.pop("name", None) or short_name(server.target)
        config = server.config or ServerConfig(name, target=server.target, options=given)
        servers: Mapping[str, ServerConfig] = {config.name: config}
        for note in server.notes:
            screen.say(note)
    else:
        server, servers = None, load(options.config, otherwise=_NONE, say=screen.say).servers

    async def run() -> Answer:
        asking = Asking(screen, options.elicit, model=options.model)
        answers = answers_of(lambda: asking, options)

        def with_stderr(name: str, server: ServerConfig) -> ServerConfig:
            stderr = "discard" if options.quiet else lambda line: screen.say(f"{name}: {line}")
            return with_options(server, options, screen, **answers, stderr=stderr)

        configured = {name: with_stderr(name, each) for name, each in servers.items()}
        history = None if options.no_history else history_file()
        lines: list[Mapping[str, Any]] = []

        def report(line: str, outcome: Answer) -> None:
            lines.append({"line": line, "exitCode": outcome.exit_code, "text": outcome.text})

        try:
            async with Manager(configured, required=server is not None) as manager:
                shell = Shell(manager, screen, history=history, asking=asking)
                code = await shell.run(report if options.json else None)
        except ServersFailed as error:
            raise next(iter(error.failures.values())) from None
        raw = {"exitCode": code, "lines": lines}
        return Answer(raw, exit_code=code, is_shown=not options.json)

    return run()
