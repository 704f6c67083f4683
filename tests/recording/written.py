"""A transcript in memory, for the tests of what writes it."""

from __future__ import annotations

import json
from typing import Any

from mcpclient.net.recorder import Recorder


class Written:
    """A recorder, and its lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.recorder = Recorder(self.lines.append)

    @property
    def records(self) -> list[dict[str, Any]]:
        records = [json.loads(line) for line in self.lines]
        for record in records:
            assert 0 <= record.pop("time", 0) < 60
        return records
