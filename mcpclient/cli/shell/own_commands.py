"""The commands of the shell itself: servers, results, calls in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ...errors import McpError, UsageError
from ..commands import FAILED
from ..render import one_line, table
from .builtin import Builtin
from .expectations import parse_expectation
from .jobs import Job, in_words
from .outcome import Finding
from .session import Session
from .words import Word


async def _servers(session: Session, words: Sequence[Word]) -> Finding:
    rows = []
    for server in session.manager.servers.values():
        mark = "*" if server.name == session.server else " "
        error = str(server.error or "").partition("\n")[0]
        reason = error or server.config.reason
        about = reason or f"{len(server.tools)} tools"
        rows.append((f"{mark} {one_line(server.name)}", server.status.value, one_line(about)))
    return Finding(table(("  SERVER", "STATUS", ""), rows, session.screen.style))


async def _use(session: Session, words: Sequence[Word]) -> Finding:
    server = session.server_named(words[0].text)
    await session.client(server.name)
    session.server = server.name
    return Finding()


async def _expect(session: Session, words: Sequence[Word]) -> Finding:
    expectation = parse_expectation(words)
    if session.result is None:
        raise UsageError("there is no result yet that could be expected to be something")
    failure = expectation.failure(session.result)
    return Finding() if failure is None else Finding(failure, exit_code=FAILED)


async def _jobs(session: Session, words: Sequence[Word]) -> Finding:
    rows = [(str(job.number), job.state, one_line(job.line)) for job in session.jobs]
    text = table(("CALL", "STATE", "LINE"), rows, session.screen.style)
    return Finding(text if rows else "nothing in the background")


async def _cancel(session: Session, words: Sequence[Word]) -> Finding:
    job = session.jobs.find(words[0].text)
    if job.task.done():
        raise UsageError(f"call {job.number} has ended already")
    job.task.cancel()
    if job.task is not asyncio.current_task():
        await asyncio.wait({job.task})
    return Finding()


async def _wait(session: Session, words: Sequence[Word]) -> Finding:
    if words:
        return await _brought_back(session.jobs.find(words[0].text))
    others = {job.task for job in session.jobs.running} - {asyncio.current_task()}
    if others:
        await asyncio.wait(others)
    return Finding()


async def _brought_back(job: Job[Finding]) -> Finding:
    if job.task is asyncio.current_task():
        raise UsageError(f"call {job.number} cannot wait for itself")
    await asyncio.wait({job.task})
    if job.task.cancelled():
        raise UsageError(f"call {job.number} was cancelled")
    error = job.task.exception()
    if error is not None and not isinstance(error, McpError):
        raise UsageError(f"call {job.number} ended with {in_words(error)}")
    return job.task.result()


async def _quit(session: Session, words: Sequence[Word]) -> Finding:
    session.is_over = True
    return Finding()


COMMANDS = (
    Builtin("servers", "", "list the servers and their status", _servers),
    Builtin("use", "SERVER", "change to another server; SERVER.TOOL calls across", _use, 1, 1),
    Builtin(
        "expect",
        "PATH [== VALUE | != VALUE | contains VALUE]",
        "fail unless the last result is so",
        _expect,
        least=1,
        most=None,
        details=(
            'expect text == "hi"; expect is_error; expect not is_error; expect structured.sum == 3'
        ),
    ),
    Builtin("jobs", "", "list the calls in the background", _jobs),
    Builtin("cancel", "NUMBER", "cancel a call in the background", _cancel, 1, 1),
    Builtin("wait", "[NUMBER]", "wait for a call in the background; _ is its result", _wait, 0, 1),
    Builtin("quit", "", "end the shell; so does Ctrl-D", _quit),
)
