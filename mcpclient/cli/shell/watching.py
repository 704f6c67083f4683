"""The commands of the shell that show what happens meanwhile: the wire, logs, changes."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence

from ...client.client import Client
from ...client.events.callbacks import LOG_LEVELS
from ...errors import UsageError
from ...framing.escaping import escape_line
from ...framing.logs import logger_for
from ...suggestions import there_are, there_is_no
from ..connecting import check_trace
from ..listen import line_of
from ..render import one_line, shorten
from .builtin import Builtin
from .outcome import Finding
from .session import Session
from .words import Word

_SERVER_LOG = logger_for("mcpclient.server")


async def _trace(session: Session, words: Sequence[Word]) -> Finding:
    target = words[0].text
    if target not in ("on", "off"):
        check_trace(target)
    for end in session.traces:
        end()
    session.traces.clear()
    if target == "off":
        return Finding()
    for server in session.manager.servers.values():
        client = server.client
        session.traces.append(client.trace_to(_shower(session) if target == "on" else target))
    return Finding()


def _shower(session: Session) -> Callable[[str], None]:
    def show(line: str) -> None:
        record = json.loads(line)
        is_recalled = record.get("channel") == "recalled" or "recalled" in record
        if "transcript" in record or is_recalled:
            return  # what was there before somebody wanted to see it
        arrow = {"sent": "->", "received": "<-"}.get(record.pop("direction", ""), "--")
        told = record.get("message", record)
        text = escape_line(f"{arrow} {json.dumps(told, ensure_ascii=False)}")
        columns = session.screen.error_style.columns
        session.screen.say_safely(text if columns is None else shorten(text, columns - 1))

    return show


async def _log(session: Session, words: Sequence[Word]) -> Finding:
    level = words[0].text
    if level == "off":
        _SERVER_LOG.setLevel(logging.NOTSET)
        return Finding()
    if level not in LOG_LEVELS:
        known = [*LOG_LEVELS, "off"]
        raise UsageError(there_is_no("level", level, known, otherwise=there_are(known)))
    client = await session.client()
    _SERVER_LOG.setLevel(LOG_LEVELS[level])
    await client.set_log_level(level)
    return Finding()


async def _listen(session: Session, words: Sequence[Word]) -> Finding:
    client = await session.client()
    uris = [word.text for word in words]
    line = " ".join(["listen", *uris])
    job = session.jobs.start(line, _hear(session, client, session.server, uris))
    return Finding(f"[{job.number}] listening; end it with: cancel {job.number}")


async def _hear(session: Session, client: Client, server: str, uris: Sequence[str]) -> Finding:
    """Show what a server says unasked, until it ends that, or this is cancelled."""
    declared = client.capabilities
    tools, prompts, resources = (
        _tells_changes(declared, name) for name in ("tools", "prompts", "resources")
    )
    if not (uris or tools or prompts or resources):
        raise UsageError(f"{server} does not say that it tells of changes; name a resource's URI")
    listening = client.listen(tools=tools, prompts=prompts, resources=resources, uris=uris)
    async with listening as events:
        async for event in events:
            session.screen.say_safely(f"{one_line(server)}: {line_of(event.method, event.raw)}")
    return Finding(f"{server} has ended the subscription")


def _tells_changes(capabilities: object, name: str) -> bool:
    declared = capabilities.get(name) if isinstance(capabilities, dict) else None
    return isinstance(declared, dict) and declared.get("listChanged") is True


def end_watching(session: Session) -> None:
    """End every trace, and let the log be as before."""
    for end in session.traces:
        end()
    session.traces.clear()
    _SERVER_LOG.setLevel(logging.NOTSET)


COMMANDS = (
    Builtin(
        "trace",
        "on | off | FILE",
        "show what crosses the wire, or append it to a file; secrets are replaced",
        _trace,
        least=1,
        most=1,
    ),
    Builtin("log", "LEVEL | off", "show what the server logs, from this level on", _log, 1, 1),
    Builtin(
        "listen",
        "[URI ...]",
        "show changes of the server's lists, and of these resources, as it tells them",
        _listen,
        most=None,
    ),
)
