"""``python -m conformance.capture [NAME …]``: make transcripts again, all or those that match.

A name is a part of a transcript's name, such as ``stdio/everything`` or ``tasks``. What is needed
is installed by ``python -m conformance.peers install``.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from conformance.capture import official
from conformance.capture.collection import SCRIPTS
from conformance.capture.sessions import Session
from conformance.scripts import Script
from conformance.workspace import workspace

# The commit that a server of git is asked about is the same every time.
GIT_DATES = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2026-01-01T00:00:00Z")

TRANSCRIPTS = Path(__file__).parents[1] / "transcripts"


def transcripts() -> Iterator[tuple[str, Script, str]]:
    """Yield the name of every transcript, with the script and transport that make it."""
    for script in SCRIPTS:
        for transport in script.transports:
            yield f"{script.folder(transport)}/{script.transcript_name()}", script, transport


def main(names: list[str]) -> int:
    """Make the transcripts whose names have one of the names in them; return an exit code."""
    os.environ.update(GIT_DATES)
    results = [
        capture(path, script, transport)
        for path, script, transport in transcripts()
        if not names or any(name in path for name in names)
    ]
    if not names:
        remove_others()
    return int(not all(results))


def capture(path: str, script: Script, transport: str) -> bool:
    """Make one transcript, say so, and return whether it could be made."""
    with workspace() as (folder, page):
        try:
            text = asyncio.run(Session(script, transport, folder, page).run())
        except Exception as error:
            print(f"{path}: {type(error).__name__}: {error}", flush=True)
            return False
    file = TRANSCRIPTS / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    print(f"{path}: {text.count(chr(10))} lines, {len(text.encode()) / 1000:.0f} KB", flush=True)
    return True


def remove_others() -> None:
    """Remove transcripts that no script makes any more; others make the official ones."""
    made = {TRANSCRIPTS / path for path, _, _ in transcripts()}
    for file in TRANSCRIPTS.rglob("*.jsonl"):
        if file not in made and file.parent != official.TRANSCRIPTS:
            file.unlink()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
