"""``python -m conformance.capture NAME …``: make those transcripts again, or all with ``--all``.

A name is a part of a transcript's name, such as ``stdio/everything`` or ``tasks``. What is needed
is installed by ``python -m conformance.peers install``.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Iterator, Sequence
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


def main(arguments: Sequence[str]) -> int:
    """Make the transcripts whose names have one of the names in them; return an exit code."""
    parser = argparse.ArgumentParser(prog="python -m conformance.capture", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="such as stdio/sdk1 or tasks")
    parser.add_argument("--all", action="store_true", help="all, and remove the others")
    options = parser.parse_args(arguments)
    chosen = [
        made
        for made in transcripts()
        if options.all or any(name in made[0] for name in options.names)
    ]
    if not chosen:
        parser.error(
            f"no transcript has such a name; --all makes {len([*transcripts()])} again, "
            f"and removes {len(others_than_made())} that no script makes any more"
        )
    os.environ.update(GIT_DATES)
    results = [capture(*made) for made in chosen]
    if options.all:
        for file in others_than_made():
            file.unlink()
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


def others_than_made() -> list[Path]:
    """Return the transcripts that no script makes any more; the official suite makes its own."""
    made = {TRANSCRIPTS / path for path, _, _ in transcripts()}
    found = TRANSCRIPTS.rglob("*.jsonl")
    return [file for file in found if file not in made and file.parent != official.TRANSCRIPTS]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
