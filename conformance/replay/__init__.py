"""Replay: recorded servers meet this library, and it has to do what the reference client did.

Nothing but Python is needed: no server, no other client, no network but the loopback interface.
See `player` for how, `equivalences` for what may differ, and `differences` for what does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

from conformance.results import (
    FAILED,
    LEGACY_SSE,
    NOT_RUN,
    PASSED,
    STDIO,
    STREAMABLE_HTTP,
    WEBSOCKET,
    Row,
)
from mcpclient.recording.transcript import Transcript, read_transcripts

from .chunkings import CHUNKINGS, Chunking
from .differences import Known
from .meeting import PART_LIMIT, Meeting, Report
from .recorded import revision_offered, size_of
from .stdio_peer import can_hand_over

__all__ = ["FOLDER", "replay", "run", "transcripts"]

FOLDER = Path(__file__).parents[1] / "transcripts"

_TRANSPORTS = {"stdio": STDIO, "http": STREAMABLE_HTTP, "sse": LEGACY_SSE, "ws": WEBSOCKET}

# How many meetings go on at once: most of the time of one is waiting.
_AT_ONCE = 8


def transcripts(names: Iterable[str] = ()) -> dict[str, Transcript]:
    """Return the transcripts whose names contain one of ``names``, all without any."""
    wanted = tuple(names)
    found = {}
    for path in sorted(FOLDER.glob("*/*.jsonl")):
        name = f"{path.parent.name}/{path.stem}"
        if not wanted or any(part in name for part in wanted):
            with path.open(encoding="utf-8") as lines:
                found[name] = read_transcripts(lines)[0]
    return found


def run(names: Iterable[str] = ()) -> Iterator[Row]:
    """Replay the transcripts in every chunking, and yield a row for each.

    When all are replayed, the list of known differences must be true as well.
    """
    wanted = tuple(names)
    known = Known()
    with _without_logs():
        rows = asyncio.run(_replay_all(transcripts(wanted), known))
    yield from rows
    if not wanted:
        yield _row_of_differences(known)


def _row_of_differences(known: Known) -> Row:
    """Say how often each known difference was met; one that never was is wrong."""
    unmet = [name for name in known.names if not known.met[name]]
    detail = ", ".join(f"{name} ({known.met[name]})" for name in known.names)
    if unmet:
        detail = f"never met: {', '.join(unmet)}"
    total = len(known.names)
    name = "the known differences are true"
    if unmet and not can_hand_over():
        return Row("replay", name, NOT_RUN, f"{detail}; what is met over stdio could not run")
    outcome = FAILED if unmet else PASSED
    return Row("replay", name, outcome, detail, checks=total, held=total - len(unmet))


@contextlib.contextmanager
def _without_logs() -> Iterator[None]:
    """Keep what the library logs about misbehaving servers from the screen."""
    logger, silence = logging.getLogger("mcpclient"), logging.NullHandler()
    logger.addHandler(silence)
    try:
        yield
    finally:
        logger.removeHandler(silence)


async def _replay_all(chosen: dict[str, Transcript], known: Known) -> list[Row]:
    turns = asyncio.Semaphore(_AT_ONCE)

    async def one(name: str, transcript: Transcript, chunking: Chunking) -> Row:
        async with turns:
            return await _row(name, transcript, chunking, known)

    return await asyncio.gather(
        *(
            one(name, transcript, chunking)
            for name, transcript in chosen.items()
            for chunking in CHUNKINGS
            if chunking.fits(size_of(transcript))
        )
    )


async def _row(name: str, transcript: Transcript, chunking: Chunking, known: Known) -> Row:
    title = f"{name}, {chunking.name}"
    header = transcript.header
    transport = _TRANSPORTS[header["transport"]]
    revision = header["protocol_version"] or revision_offered(transcript) or ""
    if transport == STDIO and not can_hand_over():
        return Row("replay", title, NOT_RUN, "needs sockets that pass files", revision, transport)
    try:
        report = await replay(name, transcript, chunking, known)
    except Exception as error:
        detail = f"{type(error).__name__}: {error}"
        return Row("replay", title, FAILED, detail, revision, transport, checks=1)
    held = max(report.checks - len(report.findings), 0)
    detail = "; ".join(report.findings[:5]) or f"{report.checks} checks"
    if report.explained:
        detail += f", {report.explained} known differences"
    outcome = FAILED if report.findings or not report.checks else PASSED
    return Row("replay", title, outcome, detail, revision, transport, report.checks, held)


async def replay(
    name: str,
    transcript: Transcript,
    chunking: Chunking,
    known: Known,
    limit: float = PART_LIMIT,
) -> Report:
    """Play one transcript in one way to this library.

    ``limit``: real seconds for each part of it, such as connecting or a step of the script.
    """
    return await Meeting(transcript, name, chunking, known, limit).run()
