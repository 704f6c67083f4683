"""Code mode: a tool that finds functions, and one that runs a model's Python, which calls them.

Everything that the confined process of the code sends is as untrusted as the code: a message that
`program` would not send ends the process.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import os
import sys
import weakref
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Callable, Optional

from ..adapters.agent_tools import LocalTool, agent_outcome, new_tool, search_tool, text_result
from ..adapters.definitions import Definition, RawCall
from ..adapters.limits import Limits, without_surrogates
from ..adapters.parts import Outcome
from ..client.events.around import refusal
from ..errors import McpError, ProcessExited, UsageError
from ..jsonrpc.messages import Message, RequestId, request, response
from ..net.futures import BackgroundTasks, resolve
from ..net.process.stopping import StopLadder
from ..net.shielded import TaskLocks
from ..protocol.outgoing import Outgoing
from ..protocol.signatures import Annotations, Signature, docstring, identifier, tool_signature
from ..protocol.types import CallToolResult, TextContent, Tool
from ..sandbox.rights import Sandbox
from ..suggestions import there_is_no
from ..transports.stdio import StdioTransport
from . import program

# Limits of a sandbox that states none: a loop that goes wrong must not take the machine with it.
_MEMORY, _PROCESSES = 512 << 20, 32
_MAX_MESSAGE = 16 << 20  # bytes
_INVALID = "The run was ended: it sent an invalid message, or one of more than 16 MiB."
_MAX_OUTPUT = 10_000_000  # characters
_MAX_CALLS = 10_000
# The program itself has 32 under way at most.
_MAX_AT_ONCE = 64
# The pace of time while calls are under way that began during others: a thread that calls without
# end would stop it otherwise.
_OVERLAPPING = 0.2
# Seconds for calls that are cancelled, since their run is over.
_CANCELLING = 1.0
# It ends as soon as its input does, unless its code prevents that.
_LADDER = StopLadder(close_input=0.3, terminate=0.2)

_OVER = {"error": "the run is over"}

Arguments = Optional[Mapping[str, Any]]
Answer = Callable[[str, Arguments], Awaitable[dict[str, Any]]]
"""Takes the path and the arguments of a call, or None for a question about the path; returns the
``value`` or the text of an ``error``."""


@dataclass(frozen=True)
class CodeMode:
    """The way in which a toolbox runs Python that a model writes: ``toolbox(…, code=CodeMode())``.

    - ``sandbox``: the rights of the code, like a server's: by default it has no network, and a
      temporary folder. Where it states no ``memory`` and no ``processes``, 512 MiB and 32 hold.
      Where the system cannot confine it, making the toolbox raises `SandboxUnavailable`, unless
      ``best_effort`` is true: then the model's code may have all of your rights.
    - ``seconds``: how long a run may take (30). Time in which a call of it is under way does not
      count: calls have timeouts of their own, and a user may be asked. While further calls overlap
      without a pause, a fifth counts. ``Sandbox(seconds=…)`` limits the process as a whole.
    - ``keep``: True keeps the process, with its variables, for the next run; `Toolbox.close` ends
      it, and so does the end of the toolbox or of this program.
    """

    sandbox: Sandbox = Sandbox()  # noqa: RUF009 - it is a constant
    seconds: float = 30
    keep: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.sandbox, Sandbox):
            raise UsageError(f"sandbox of a CodeMode must be a Sandbox, not {self.sandbox!r:.100}")
        if not isinstance(self.seconds, (int, float)) or not 0 < self.seconds < float("inf"):
            raise UsageError(f"seconds of a CodeMode must be a number above 0: {self.seconds!r}")

    @property
    def rights(self) -> Sandbox:
        """The sandbox, with limits where it states none."""
        own = self.sandbox
        return replace(own, memory=own.memory or _MEMORY, processes=own.processes or _PROCESSES)


class _Run:
    """One piece of code that runs: its output, its calls, and its time.

    ``stop``: called with the reason when it exceeds a limit.
    """

    def __init__(self, number: int, seconds: float, stop: Callable[[str], None]) -> None:
        self.number = number
        self.under_way = 0
        self._stop = stop
        self._printed: list[str] = []
        self._size = 0
        self._counts = {"calls": 0, "questions": 0}
        self._loop = asyncio.get_running_loop()
        self.over: asyncio.Future[tuple[str, bool]] = self._loop.create_future()
        self._left, self._since, self._pace = seconds, self._loop.time(), 1.0
        self._too_long = f"The run took more than {seconds:g} seconds and was ended."
        self._timer = self._loop.call_later(seconds, self._stop, self._too_long)
        self._first: object = None  # of the calls that are under way without a pause

    def _let_time_count(self, pace: float) -> None:
        self._timer.cancel()
        now = self._loop.time()
        self._left -= (now - self._since) * self._pace
        self._since, self._pace = now, pace
        if pace and not self.over.done():
            wait = max(self._left, 0) / pace
            self._timer = self._loop.call_later(wait, self._stop, self._too_long)

    def print(self, text: str) -> None:
        self._size += len(text)
        self._printed.append(text)
        if self._size > _MAX_OUTPUT:
            self._stop(f"The run printed more than {_MAX_OUTPUT:,} characters and was ended.")

    def call_begins(self, number: object, kind: str) -> None:
        """Count a call; no time counts while it is the first one under way."""
        if not self.under_way:
            self._first = number
            self._let_time_count(0)
        self.under_way += 1
        self._counts[kind] += 1
        if self._counts[kind] > _MAX_CALLS:
            self._stop(f"The run made more than {_MAX_CALLS:,} {kind} and was ended.")

    def call_ends(self, number: object) -> None:
        """Let time count again: slowly, where other calls are still under way."""
        self.under_way -= 1
        if not self.under_way:
            self._let_time_count(1)
        elif number == self._first:
            self._let_time_count(_OVERLAPPING)

    def end(self, reason: str = "", *, failed: bool = True) -> None:
        """End the run; ``reason``: added to its output."""
        self._timer.cancel()
        text = "".join(self._printed)
        gap = "\n" if reason and text and not text.endswith("\n") else ""
        resolve(self.over, (f"{text}{gap}{reason}", failed))


class CodeProcess:
    """A process of `program`; it is the receiver of its own transport."""

    def __init__(self, mode: CodeMode) -> None:
        self._mode = mode
        self._runs = 0
        self._run: _Run  # the latest one: threads of its code may go on after it
        self._answer: Answer | None = None
        self._calls = BackgroundTasks()
        self._loop = asyncio.get_running_loop()
        self.is_usable: bool = True
        self.transport: StdioTransport = StdioTransport(
            _command(),
            # Without this variable Windows starts no program.
            env={name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ},
            inherit_env="none",
            stderr="discard",
            ladder=_LADDER,
            sandbox=mode.rights,
            max_message_size=_MAX_MESSAGE,
            peer="the model's code",
        )

    async def run(self, code: str, answer: Answer) -> tuple[str, bool]:
        """Run code, and return its output and whether it failed; ``answer``: makes its calls.

        Raises `McpError` if it cannot be started.
        """
        self._runs += 1
        self._run = run = _Run(self._runs, self._mode.seconds, self._break)
        self._answer = answer
        try:
            if self._runs == 1:
                await self.transport.open(self)
            given = {"code": without_surrogates(code)}
            self.transport.send(Outgoing(request(run.number, "run", given)))
            return await run.over
        finally:
            self.is_usable = self.is_usable and run.over.done() and not run.over.cancelled()
            run.end()
            self._answer = None
            self._calls.cancel()
            await self._calls.wait(_CANCELLING)

    @property
    def is_here(self) -> bool:
        """Whether it belongs to the running event loop."""
        return self._loop is asyncio.get_running_loop()

    async def close(self) -> None:
        """End the process and all that it started. Idempotent."""
        self.is_usable = False
        if self.is_here:
            await self.transport.close()
            self._run.end("Python ended before the code did.")  # the transport may not tell
        else:
            self.transport.abort()

    def _break(self, reason: str) -> None:
        """End the run; between two runs, where no call waits for a reason, end the process."""
        self.is_usable = False
        if self._run.over.done():
            self.transport.abort()
        self._run.end(reason)

    # transports.base.Receiver

    def message_received(self, message: Message) -> None:
        run, params, result = self._run, message.get("params"), message.get("result")
        method, number = message.get("method"), message.get("id")
        given = params if isinstance(params, dict) else {}
        asked = given.get("arguments")
        is_whole = isinstance(given.get("path"), str) and isinstance(asked, (dict, type(None)))
        is_call = method == "call" and type(number) is int and is_whole
        if method == "output" and isinstance(given.get("text"), str):
            run.print(given["text"])
        elif is_call and run.under_way < _MAX_AT_ONCE:
            run.call_begins(number, "questions" if asked is None else "calls")
            call = self._calls.start(self._answered(run, given["path"], asked))
            call.add_done_callback(partial(self._respond, run, number))
        elif method is None and number == run.number and isinstance(result, dict):
            run.end(failed=bool(result.get("failed")))
        else:
            self._break(_INVALID)

    async def _answered(self, run: _Run, path: str, arguments: Arguments) -> dict[str, Any]:
        if self._answer is None or run.over.done():
            return _OVER
        return await self._answer(path, arguments)

    def _respond(self, run: _Run, number: Any, call: asyncio.Task[dict[str, Any]]) -> None:
        # Here and not in the call, which may be cancelled before it has begun.
        run.call_ends(number)
        found = _OVER if call.cancelled() or call.exception() else call.result()
        with suppress(McpError):  # it has ended, or does not read: then its time runs out
            try:
                self.transport.send(Outgoing(response(number, without_surrogates(found))))
            except UsageError as error:  # a server's NaN, for example
                self.transport.send(Outgoing(response(number, {"error": str(error)})))

    def message_rejected(self, error: McpError, request_id: RequestId | None) -> None:
        """End the run: the program itself sends only messages."""
        self._break(_INVALID)

    def request_failed(self, request_id: RequestId | None, error: McpError) -> None:
        self._break(_INVALID)

    def channel_lost(self, error: McpError) -> None:
        """Do nothing: there is one channel only."""

    def output_skipped(self, data: bytes) -> None:
        """Do nothing: broken JSON has been rejected, and nothing else is lost."""

    def connection_lost(self, error: McpError) -> None:
        """End the run, with the end of stderr."""
        said = _INVALID
        if isinstance(error, ProcessExited):
            code = "" if error.exit_code is None else f" (exit code {error.exit_code})"
            said = f"Python ended before the code did{code}. {error.stderr}"
        self._break(said.rstrip())


def _command() -> list[str]:
    """Return the command: the source is an argument, so that no file of ours has to be read."""
    from ..sandbox.confine import interpreter

    source = inspect.getsource(program)
    return [interpreter() or "python3", "-I", "-S", "-X", "utf8", "-c", source]


def require_confinement(mode: CodeMode) -> None:
    """Raise `SandboxUnavailable` where the code could not be run as its sandbox demands."""
    from ..sandbox.confine import confined

    command = _command()
    launch = confined(mode.rights, command, {}, "", command[0])
    for descriptor in launch.descriptors:
        os.close(descriptor)


# The code gets results whole: only its own output is for the model.
_WHOLE = Limits(max_chars=16 << 20)
# Runs at the same time: a model may ask for a hundred in one response.
_RUNS_AT_ONCE = 4
# Above this number of paths, the paths of removed tools are forgotten.
_MAX_PATHS = 20_000

CallTool = Callable[[RawCall, Mapping[str, Any]], Awaitable[Outcome]]
"""Makes a call as if the model had made it, with the options of `call_tool`; never raises."""


class CodeTools:
    """The tools ``search_tools`` and ``run_python``, and the process that is kept, if any.

    ``definitions``: returns the tools that code may call; another list when they change. ``call``:
    makes a call of one of them. Raises `SandboxUnavailable`.
    """

    def __init__(
        self, mode: CodeMode, definitions: Callable[[], Sequence[Definition]], call: CallTool
    ) -> None:
        require_confinement(mode)
        self._mode = mode
        self._definitions = definitions
        self._call = call
        self._turns = TaskLocks()
        self._started = 0
        self._kept: list[CodeProcess] = []
        weakref.finalize(self, _abort, self._kept)
        self._taken: dict[str, str] = {}
        self._functions: dict[str, Definition] = {}
        self._known: object = None

    def tools(self, servers: Sequence[str]) -> list[LocalTool]:
        """Return the two tools; ``servers``: the names for the description."""

        def described(matches: Sequence[Definition]) -> list[str]:
            return ["Functions for run_python:", *self._signatures(matches)]

        finding = search_tool(self._definitions, servers, described)
        kept = " Variables are kept for the next run." if self._mode.keep else ""
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        description = (
            f"Run Python {version} with its standard library, in a sandbox. Tools are functions"
            " there, tools.SERVER.NAME(argument=value), whose signatures search_tools shows. They"
            " return data, and raise ToolError. async_tools has the same as coroutines; await works"
            " at the top level. What is printed, and the value of an expression at the end, comes"
            f" back: print only what you need.{kept} A run may take {self._mode.seconds:g} seconds,"
            " calls not counted."
        )
        code = {"code": {"type": "string", "description": "the source"}}
        running = new_tool("run_python", description, code, annotations={})
        return [finding, LocalTool(running, self._run)]

    async def close(self) -> None:
        """End the process that is kept, if there is one."""
        while self._kept:
            await self._kept.pop().close()

    async def _run(
        self, arguments: Mapping[str, Any], options: Mapping[str, Any]
    ) -> CallToolResult:
        code = arguments.get("code")
        if not isinstance(code, str):
            return refusal("Give the code, as a string.")
        self._started += 1
        slot = 0 if self._mode.keep else self._started % _RUNS_AT_ONCE
        async with self._turns.lock(f"run {slot}"):
            if not self._mode.keep:
                return await self._run_in(CodeProcess(self._mode), code, options)
            if not (self._kept and self._kept[0].is_usable and self._kept[0].is_here):
                await self.close()
                self._kept.append(CodeProcess(self._mode))
            return await self._run_in(self._kept[0], code, options)

    async def _run_in(
        self, process: CodeProcess, code: str, options: Mapping[str, Any]
    ) -> CallToolResult:
        try:
            text, failed = await process.run(code, partial(self._answer, options))
        finally:
            if not (self._mode.keep and process.is_usable):
                await process.close()
        if self._mode.keep and not process.is_usable:
            text += "\nThe variables are lost; the next run starts anew."
        return CallToolResult({**text_result(text).raw, "isError": failed})

    async def _answer(
        self, options: Mapping[str, Any], path: str, arguments: Arguments
    ) -> dict[str, Any]:
        """Return the value of a call, or its error, as `program` wants it."""
        definition = self._by_path().get(path)
        if arguments is None:
            below = self._below(f"{path}." if path else "")
            if definition is not None:
                return {"value": "\n".join(self._signatures([definition]))}
            return {"value": below} if below or not path else self._unknown(path)
        if definition is None:
            return self._unknown(path)
        signature = self._signature(definition.binding.tool, Annotations(()))
        wire = {each.name: each.wire for each in signature.parameters}
        named = {wire.get(name, name): value for name, value in arguments.items()}
        outcome = await self._call(RawCall("", definition.name, named), options)
        said = agent_outcome(outcome, _WHOLE)
        if said.is_error or not isinstance(outcome, CallToolResult):
            return {"error": said.text}
        is_plain = all(isinstance(block, TextContent) for block in outcome.content)
        is_data = outcome.structured is not None or is_plain
        return {"value": outcome.data if is_data else said.text}

    def _unknown(self, path: str) -> dict[str, Any]:
        return {"error": there_is_no("tool", path, self._functions)}

    # Functions

    def _below(self, prefix: str) -> dict[str, str]:
        """Return the names behind a prefix of paths, each with the name that it was made of."""
        names = (path[len(prefix) :] for path in self._functions if path.startswith(prefix))
        found = dict.fromkeys(name.partition(".")[0] for name in names)
        return {name: self._taken.get(f"{prefix}{name}", name) for name in found}

    def _by_path(self) -> dict[str, Definition]:
        """Return the functions by their paths, which a tool keeps."""
        definitions = self._definitions()
        if definitions is not self._known:
            if len(self._taken) > _MAX_PATHS:
                self._taken = {}
            self._known = definitions
            self._functions = {self._path(each.binding.tool): each for each in definitions}
        return self._functions

    def _path(self, tool: Tool) -> str:
        server = getattr(tool, "server", None)
        prefix = "" if server is None else f"{self._free('', server)}."
        return self._free(prefix, getattr(tool, "raw_name", tool.name))

    def _free(self, prefix: str, text: str) -> str:
        """Return a path that nothing else has; for the same text below ``prefix`` the same."""
        name = identifier(text, fallback="tool")
        while self._taken.setdefault(f"{prefix}{name}", text) != text:
            # A digest: numbers would be slow for thousands of names that are alike.
            digest = hashlib.sha256(f"{name} {text}".encode("utf-8", "replace")).hexdigest()
            name = f"{identifier(text, fallback='tool')}_{digest[:6]}"
        return f"{prefix}{name}"

    def _signature(self, tool: Tool, annotations: Annotations) -> Signature:
        return tool_signature(tool, self._path(tool), annotations, "Any")

    def _signatures(self, matches: Sequence[Definition]) -> list[str]:
        """Return the source of signatures, with the types that they name before them."""
        self._by_path()  # it gives paths in the order of the tools
        annotations = Annotations(())
        lines: list[str] = []
        for match in matches:
            made = self._signature(match.binding.tool, annotations)
            given = [
                f"{each.name}: {each.annotation}{'' if each.is_required else ' = ...'}"
                for each in made.parameters
            ]
            if made.others is not None:
                given.append(f"**{made.others.name}: {made.others.annotation}")
            lines.append(f"tools.{made.name}({', '.join(given)}) -> {made.returns}")
            lines += docstring(made.paragraphs, "    ")
        types = [line for definition in annotations.definitions for line in definition]
        return [*types, *lines]


def _abort(kept: list[CodeProcess]) -> None:
    for process in kept:
        with suppress(RuntimeError):
            process.transport.abort()
