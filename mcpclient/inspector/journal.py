"""What crossed the wire between the client and one server, as much of it as is kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Iterator

from ..recording.transcript import Record, Transcript, read_transcripts, write_line
from .rows import Row, RowMaker

_MAX_RECORDS = 200_000
_MAX_CHARACTERS = 64 * 1024 * 1024
_MAX_RECORD_LENGTH = 8 * 1024 * 1024

# The first records of a session open it; without them nothing after could be replayed.
_OPENING_RECORDS = 20

# How many rows are looked through before others get a turn: at most a few milliseconds.
_ROWS_PER_TURN = 2_000


class Journal:
    """The transcript of one server's connections, in memory: the latest records, and the first.

    It takes a transcript line by line, as `Client.trace_to` gives it. Records are numbered from 0,
    and numbers stay when the oldest are dropped.

    ``first``: the number of the oldest record that is kept. ``changed_lists``: how often the server
    has said that one of its lists has changed. ``counts``: how many records each lane has had.
    """

    def __init__(
        self, *, most_records: int = _MAX_RECORDS, most_characters: int = _MAX_CHARACTERS
    ) -> None:
        self.first: int = 0
        self.changed_lists: int = 0
        self.counts: dict[str, int] = {"client": 0, "server": 0, "http": 0, "stderr": 0}
        self._most_records = most_records
        self._most_characters = most_characters
        self._characters = 0
        self._lines: list[str] = []
        self._rows: list[Row] = []
        self._opening: list[str] = []
        self._maker = RowMaker()

    @property
    def next(self) -> int:
        """The number that the next record will have."""
        return self.first + len(self._lines)

    def take(self, line: str) -> None:
        """Take one line of a transcript: the header of a connection, or a record."""
        record: Record = json.loads(line)
        number = self.next
        row = self._maker.row(number, record, len(line))
        if len(line) > _MAX_RECORD_LENGTH:
            line = _too_long(record, row)
        if number < _OPENING_RECORDS:
            self._opening.append(line)
        self._lines.append(line)
        self._rows.append(row)
        self._characters += len(line)
        self.counts[row.lane] += 1
        if row.lane == "server" and row.label.endswith("/list_changed"):
            self.changed_lists += 1
        if len(self._lines) > self._most_records or self._characters > self._most_characters:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        """Drop a twentieth more than has to be, since dropping moves all that is kept."""
        count, characters = 0, self._characters
        while count < len(self._lines) - 1 and (
            len(self._lines) - count > self._most_records * 0.95
            or characters > self._most_characters * 0.95
        ):
            characters -= len(self._lines[count])
            count += 1
        del self._lines[:count], self._rows[:count]
        self.first += count
        self._characters = characters

    def line(self, number: int) -> str | None:
        """Return a record as JSON; None for one that is not kept."""
        index = number - self.first
        return self._lines[index] if 0 <= index < len(self._lines) else None

    def rows(self, first: int, count: int) -> list[Row]:
        """Return the rows from ``first`` on that are kept, at most ``count``."""
        start = max(first, self.first) - self.first
        return self._rows[start : max(first + count - self.first, 0)]

    async def find(self, text: str, lanes: Collection[str], after: int) -> list[int]:
        """Return the numbers, greater than ``after``, of records in these lanes that have the text.

        Upper and lower case are the same. Other tasks get their turns meanwhile.
        """
        wanted = text.lower()
        found: list[int] = []
        number = max(after + 1, self.first)
        while number < self.next:
            for _ in range(_ROWS_PER_TURN):
                index = number - self.first
                if not 0 <= index < len(self._lines):
                    break
                if self._rows[index].lane in lanes and (
                    not wanted or wanted in self._lines[index].lower()
                ):
                    found.append(number)
                number += 1
            await asyncio.sleep(0)
            number = max(number, self.first)
        return found

    def transcript(self) -> Iterator[str]:
        """Return the lines, the opening of the session included, as `read_transcripts` reads them.

        What has been dropped between them is missing; a note says how much that is.
        """
        yield from self._opening[: self.first]
        missing = self.first - len(self._opening)
        if missing > 0:
            text = f"{missing} records are missing here: they are not kept"
            time = self._rows[0].time
            yield write_line({"time": time, "direction": "note", "channel": "kept", "end": text})
        yield from list(self._lines)

    def transcripts(self) -> list[Transcript]:
        """Return the connections as they are kept; an empty list where there was none yet."""
        return read_transcripts(self.transcript()) if self._lines else []


def _too_long(record: Record, row: Row) -> str:
    about = {name: record[name] for name in ("time", "direction", "channel") if name in record}
    text = f"{row.label} {row.detail}: {row.size} characters, too many to be kept"
    return write_line({**about, "text": text})
