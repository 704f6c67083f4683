"""``python -m tests.tools.saboteur.first_finding [NAME ...]``: replay until something is found.

Each session in one chunking, the next in another; then each in the next chunking, until all have
been played, and no further than the first that does not go as recorded.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

from conformance import replay
from conformance.replay.eras import memories_apart
from conformance.replay.idle_clock import run_unhurried
from mcpclient.recording.transcript import Transcript

_AT_ONCE = 24


async def first_finding(names: Sequence[str]) -> str | None:
    """Return the first finding; None when all goes as recorded."""
    turns = asyncio.Semaphore(_AT_ONCE)

    async def meet(turn: int, number: int, name: str, transcript: Transcript) -> str | None:
        chunkings = replay.chunkings_of(transcript)
        async with turns:
            try:
                chunking = chunkings[(number + turn) % len(chunkings)]
                report = await replay.replay(name, transcript, chunking)
            except Exception as error:
                return f"{name}: {type(error).__name__}: {error}"
        if report.checks and not report.findings:
            return None
        return f"{name}: {'; '.join(report.findings[:2]) or 'nothing was checked'}"

    meetings = [
        asyncio.ensure_future(meet(turn, number, *item))
        for turn in range(3)
        for number, item in enumerate(replay.transcripts(names).items())
    ]
    try:
        for meeting in asyncio.as_completed(meetings):
            found = await meeting
            if found is not None:
                return found
    finally:
        for each in meetings:
            each.cancel()
        await asyncio.wait(meetings)
    return None


def main() -> int:
    """Print the finding, if any."""
    with replay.without_logs(), memories_apart():
        found = run_unhurried(first_finding(sys.argv[1:]))
    if found is not None:
        print(f"found in {found}"[:500])
    return 0 if found is None else 1


if __name__ == "__main__":
    sys.exit(main())
