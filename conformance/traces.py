"""The folder of the traffic of a run's meetings, for `conformance.judged`.

The library writes a transcript of each connection (``trace=``). A bridge is a server as well: what
it says to its host is seen by a tap between them.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance import results
from conformance.capture.taps import SENT, stdio
from mcpclient.recording.transcript import message_of, read_transcripts

_FOLDER = "CONFORMANCE_TRACES"  # a variable, so that programs which are started find it as well


@dataclass
class Traffic:
    """The messages of one connection, and the part of the suite in which it was.

    ``spoken``: its revision, where that is known from elsewhere. ``asked``: the messages that were
    answered, where those are not the ones that were sent, but recorded ones.
    """

    part: str
    transport: str
    sent: list[Any] = field(default_factory=list)
    received: list[Any] = field(default_factory=list)
    spoken: str = ""
    asked: list[Any] = field(default_factory=list)


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Keep what all meetings leave; without this they leave nothing."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ[_FOLDER] = folder
        try:
            yield
        finally:
            del os.environ[_FOLDER]


def new(part: str) -> str | None:
    """Return the path of a new transcript; None where nothing is kept."""
    folder = os.environ.get(_FOLDER)
    return folder and str(Path(folder, f"{part}-{uuid.uuid4().hex}.jsonl"))


def tapped(part: str, bridge: list[str], *options: str) -> list[str]:
    """Return the command of a bridge behind a tap, with a transcript of its own connections.

    ``options``: the words before the path of that transcript.
    """
    folder = os.environ.get(_FOLDER)
    if folder is None:
        return bridge
    place = str(Path(folder, f"{part}-{stdio.NEW}"))
    return [sys.executable, stdio.__file__, f"{place}.seen", *bridge, *options, f"{place}.jsonl"]


def traffic() -> Iterator[Traffic]:
    """Yield the messages of each connection."""
    folder = os.environ.get(_FOLDER)
    for path in sorted(Path(folder).iterdir()) if folder else ():
        part = path.name.partition("-")[0]
        if path.suffix == ".seen":
            yield _seen_by_tap(part, path)
            continue
        with path.open(encoding="utf-8") as lines:
            for transcript in read_transcripts(lines):
                found = Traffic(part, results.TRANSPORT_OF.get(transcript.transport, ""))
                for record in transcript.records:
                    message = message_of(record)
                    side = found.sent if record["direction"] == SENT else found.received
                    side += [] if message is None or record["direction"] == "note" else [message]
                yield found


def _seen_by_tap(part: str, path: Path) -> Traffic:
    """Return the messages of a bridge and its host: the bridge sent those that the tap received."""
    found = Traffic(part, results.STDIO)
    for seen in stdio.read_seen(path):
        if seen["channel"] == "stdio" and "line" in seen:
            side = found.received if seen["direction"] == SENT else found.sent
            side.append(json.loads(seen["line"]))
    return found
