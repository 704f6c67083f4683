"""F-SHOW-10: what crossed the wire, in bounded memory."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from mcpclient.inspector.journal import Journal
from mcpclient.recording.transcript import read_transcripts

HEADER = '{"transcript": 1, "transport": "stdio", "target": "x"}\n'


def line(number: int, **more: Any) -> str:
    record = {"time": number / 10, "direction": "received", "channel": "stdio"}
    message = {"jsonrpc": "2.0", "method": "n/tick", "params": {"data": f"Tick {number}"}}
    return json.dumps({**record, "message": message, **more}) + "\n"


def filled(count: int, **limits: int) -> Journal:
    journal = Journal(**limits)
    journal.append(HEADER)
    for number in range(1, count + 1):
        journal.append(line(number))
    return journal


def test_records_are_numbered_and_kept() -> None:
    journal = filled(3)
    assert (journal.first, journal.next) == (0, 4)
    assert journal.line(2) == line(2)
    assert journal.line(4) is None
    assert [row.detail for row in journal.rows(2, 9)] == ["Tick 2", "Tick 3"]
    assert journal.counts == {"client": 1, "server": 3, "http": 0, "stderr": 0, "fault": 0}


def test_the_oldest_are_dropped_and_numbers_stay() -> None:
    journal = filled(200, most_records=100)
    assert len(journal.rows(0, 1000)) <= 100
    assert journal.next == 201
    assert journal.line(0) is None
    assert journal.line(200) == line(200)
    assert journal.rows(journal.first, 1)[0].number == journal.first
    assert [row.number for row in journal.rows(journal.first - 2, 3)] == [journal.first]
    assert journal.counts["server"] == 200


def test_memory_is_bounded_by_size_as_well() -> None:
    journal = filled(200, most_characters=5_000)
    kept = [journal.line(number) or "" for number in range(journal.next)]
    assert sum(map(len, kept)) <= 5_000
    assert journal.line(200) == line(200)


def test_a_transcript_of_it_can_be_read_again() -> None:
    """F-SHOW-8: also when the middle is missing."""
    whole = filled(30)
    assert len(whole.transcripts()[0].records) == 30
    cut = filled(200, most_records=100)
    transcripts = read_transcripts(cut.transcript())
    assert transcripts[0].header["target"] == "x"
    texts = [record.get("end", "") for record in transcripts[0].records]
    assert any("records are missing here" in text for text in texts)
    assert Journal().transcripts() == []


def test_it_is_searched_by_text_and_lane() -> None:
    journal = filled(5_000)
    journal.append(line(5_001, channel="stderr", message=None, text="tick 7"))

    def find(text: str, lanes: list[str], after: int = -1) -> list[int]:
        return asyncio.run(journal.find(text, lanes, after))

    assert find("TICK 4999", ["server"]) == [4999]
    assert find("tick 7", ["stderr"]) == [5001]
    assert find("", ["client"]) == [0]
    assert find("", ["server"], after=4_998) == [4999, 5000]


async def test_searching_goes_on_where_records_are_dropped_meanwhile() -> None:
    journal = filled(4_000, most_records=4_100)
    searching = asyncio.ensure_future(journal.find("tick", ["server"], -1))
    await asyncio.sleep(0)
    for number in range(4_001, 9_000):
        journal.append(line(number))
    found = await searching
    assert found == sorted(set(found))
    assert found[-1] == 8_999


def test_changed_lists_are_counted() -> None:
    journal = filled(0)
    for method in ("notifications/tools/list_changed", "notifications/roots/list_changed"):
        for direction in ("received", "sent"):
            message = {"jsonrpc": "2.0", "method": method}
            journal.append(line(1, direction=direction, message=message))
    assert journal.changed_lists == 2


def message(number: int, direction: str, **more: Any) -> str:
    return line(number, direction=direction, message={"jsonrpc": "2.0", **more})


def test_a_request_knows_its_answer_once_that_is_there() -> None:
    """F-SHOW-14: from a request to its response and back."""
    journal = filled(0)
    journal.append(message(1, "sent", id=1, method="ping"))
    assert journal.rows(1, 1)[0].partner is None
    journal.append(message(2, "received", id=1, result={}))
    assert [row.partner for row in journal.rows(1, 2)] == [2, 1]


def test_faults_failures_levels_and_methods_are_found() -> None:
    """F-SHOW-14: and faults are counted."""
    journal = filled(0)
    journal.append(message(1, "sent", id=1, method="tools/list"))
    journal.append(message(2, "received", id=1, result={}))
    journal.append(message(3, "sent", id=2, method="ping"))
    journal.append(message(4, "received", id=2, error={"code": 1, "message": "m"}))
    for number, level in ((5, "info"), (6, "error"), (7, "odd")):
        params = {"level": level, "data": "x"}
        journal.append(message(number, "received", method="notifications/message", params=params))
    assert journal.counts["fault"] == 1

    def found(**chosen: str) -> list[int]:
        return asyncio.run(journal.find("", ["client", "server"], -1, **chosen))

    assert found(only="fault") == [2]
    assert found(only="failure") == [2, 4]
    assert found(only="warning") == [6]
    assert found(only="debug") == [5, 6]
    assert found(only="nonsense") == []
    assert found(method="tools/list") == [1, 2]
    assert found(method="tools/list", only="fault") == [2]


def test_lines_of_stderr_are_a_block() -> None:
    """F-SHOW-14: from the first to the last that nothing interrupts."""
    journal = filled(1)
    for number, text in enumerate(("Traceback:", "  a", "KeyError"), 2):
        journal.append(line(number, channel="stderr", message=None, text=text))
    journal.append(line(5))
    journal.append(line(6, channel="stderr", message=None, text="later"))
    assert journal.block(3) == ["Traceback:", "  a", "KeyError"]
    assert journal.block(6) == ["later"]


@pytest.mark.parametrize("number", [0, 1, 250, 1_000])
def test_a_record_that_is_not_kept_is_in_no_block(number: int) -> None:
    """F-SHOW-14: the text of another record is not shown in its place."""
    journal = Journal(most_records=100)
    for index in range(200):
        journal.append(line(index, channel="stderr", message=None, text=str(index)))
    assert 1 < journal.first < journal.next < 250
    assert journal.block(number) == []
