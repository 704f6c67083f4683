"""Replay: recorded servers meet this library, and it has to act as the reference client did.

Nothing but Python is needed: no server, no other client, no network but the loopback interface.
See `player` for how, `equivalences` for what may differ, and `differences` for what does.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
from collections.abc import Iterable, Iterator
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from conformance.results import FAILED, PASSED, TRANSPORT_OF, Row
from mcpclient.protocol.negotiation import era_of
from mcpclient.recording.transcript import Transcript, read_transcripts

from .chunkings import CHUNKINGS, Chunking
from .differences import DIFFERENCES, Difference, Known
from .eras import begin_meeting, memories_apart
from .idle_clock import run_unhurried
from .meeting import PART_LIMIT, Meeting, Report
from .recorded import is_paced, revision_offered, size_of

__all__ = [
    "FOLDER",
    "chunkings_of",
    "names_of",
    "replay",
    "run",
    "run_here",
    "transcripts",
    "without_logs",
]

FOLDER = Path(__file__).parents[1] / "transcripts"

# How many transcripts one process plays at once: much of the time of one is waiting.
_AT_ONCE = 16


def transcripts(names: Iterable[str] = ()) -> dict[str, Transcript]:
    """Return the transcripts whose names contain one of ``names``, all without any."""
    return {name: _read(name) for name in names_of(names)}


def names_of(parts: Iterable[str] = ()) -> list[str]:
    """Return the names of those transcripts, without reading one."""
    wanted = tuple(parts)
    every = sorted(f"{path.parent.name}/{path.stem}" for path in FOLDER.glob("*/*.jsonl"))
    return [name for name in every if not wanted or any(part in name for part in wanted)]


def _read(name: str) -> Transcript:
    with (FOLDER / f"{name}.jsonl").open(encoding="utf-8") as lines:
        return read_transcripts(lines)[0]


def run(names: Iterable[str] = ()) -> Iterator[Row]:
    """Replay the transcripts, and yield a row for each: one session, however it is cut."""
    chosen = names_of(names)
    count = min(os.cpu_count() or 1, len(chosen) // _AT_ONCE)
    if count < 2:
        yield from run_here(chosen)
        return
    # Dealt like cards, those that take longest first. A forked process would begin with whatever
    # this one remembers.
    chosen.sort(key=_seconds_of, reverse=True)
    hands = [chosen[first::count] for first in range(count)]
    with get_context("spawn").Pool(count) as processes:
        rows = [row for done in processes.map(run_here, hands, chunksize=1) for row in done]
    yield from sorted(rows, key=lambda row: row.name)


def _seconds_of(name: str) -> float:
    """Return about how long a session takes: as long as it took, or as its bytes do."""
    path = FOLDER / f"{name}.jsonl"
    *_, last = path.read_text("utf-8").splitlines()
    return float(json.loads(last)["time"]) + path.stat().st_size / 50_000


def run_here(names: Iterable[str]) -> list[Row]:
    """Replay the transcripts of these names in this process."""
    with without_logs(), memories_apart():
        return run_unhurried(_replay_all({name: _read(name) for name in names}))


@contextlib.contextmanager
def without_logs() -> Iterator[None]:
    """Keep the library's logs about misbehaving servers off the screen."""
    logger, silence = logging.getLogger("mcpclient"), logging.NullHandler()
    logger.addHandler(silence)
    try:
        yield
    finally:
        logger.removeHandler(silence)


async def _replay_all(chosen: dict[str, Transcript]) -> list[Row]:
    turns = asyncio.Semaphore(_AT_ONCE)

    async def one(name: str, transcript: Transcript) -> Row:
        async with turns:
            return await _row(name, transcript)

    return await asyncio.gather(*(one(*item) for item in chosen.items()))


async def _row(name: str, transcript: Transcript) -> Row:
    """Play one transcript in all chunkings. A check that is made in each of them counts once."""
    header = transcript.header
    transport = TRANSPORT_OF[header["transport"]]
    spoken = header["protocol_version"]
    if era_of(spoken or "") is None:  # an answer with another one was refused
        spoken = revision_offered(transcript)
    revision = spoken or header["script"].get("revision", "")
    row = partial(Row, "replay", name, revision=revision, transport=transport)
    chunkings = chunkings_of(transcript)
    reports = {}
    # At the same time: some sessions take seconds in which nothing happens.
    meetings = (replay(name, transcript, chunking) for chunking in chunkings)
    for chunking, report in zip(chunkings, await asyncio.gather(*meetings, return_exceptions=True)):
        if isinstance(report, BaseException):
            return row(FAILED, f"{chunking.name}: {type(report).__name__}: {report}", checks=1)
        reports[chunking.name] = report
    checks = min(report.checks for report in reports.values())
    bad = {cut: report.findings for cut, report in reports.items() if report.findings}
    if bad or not checks:
        most = max(map(len, bad.values()), default=0)
        detail = " | ".join(f"{cut}: {'; '.join(found[:5])}" for cut, found in bad.items())
        return row(FAILED, detail, checks=max(checks, most, 1), held=max(checks - most, 0))
    accepted = reports[chunkings[0].name].accepted
    detail = ", ".join([f"{checks} checks in {len(reports)} chunkings", *map(repr, accepted)])
    return row(PASSED, detail, checks=checks, held=checks, accepted=sum(accepted.values()))


def chunkings_of(transcript: Transcript) -> list[Chunking]:
    """Return the ways in which a transcript is cut, the recorded one first.

    Where the time counts, no way is chosen that takes much of its own.
    """
    size = float("inf") if is_paced(transcript) else size_of(transcript)
    return [chunking for chunking in CHUNKINGS if chunking.fits(size)]


async def replay(
    name: str,
    transcript: Transcript,
    chunking: Chunking,
    limit: float = PART_LIMIT,
    differences: Iterable[Difference] = DIFFERENCES,
) -> Report:
    """Play one transcript in one way to this library.

    ``limit``: real seconds for each part of it, such as connecting or a step of the script.
    """
    begin_meeting()
    return await Meeting(transcript, chunking, Known(name, differences), limit).run()
