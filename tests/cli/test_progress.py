"""The line that shows that a call goes on: only on a terminal, only for long calls: F-SHOW-3."""

from __future__ import annotations

import asyncio
import io
import tracemalloc

import pytest

from mcpclient import Progress
from mcpclient.cli import screen
from mcpclient.cli.screen import StatusLine
from tests.cli.in_process import Terminal
from tests.support import virtual_time


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each stream is a terminal of 80 columns."""
    monkeypatch.setattr(screen, "columns_of", lambda _: 80)


def drawn(seconds: float, *reports: dict[str, object], columns: int | None = 80) -> list[str]:
    """Return what a call of so many seconds draws, a string per turn, after these reports."""
    stream = Terminal()

    async def call() -> None:
        async with StatusLine(stream) as line:
            for report in reports:
                line.update(Progress(report))
            await asyncio.sleep(seconds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(screen, "columns_of", lambda _: columns)
        virtual_time.run(call())
    return stream.getvalue().split("\r")[1:]


def test_a_quick_call_draws_nothing() -> None:
    assert drawn(0.4) == []


def test_a_long_call_turns_a_spinner_and_leaves_no_trace() -> None:
    assert drawn(0.95) == ["| 0 s", "/ 1 s", "- 1 s", "\\ 1 s", "| 1 s", "     ", ""]


def test_known_totals_make_a_bar() -> None:
    half = {"progress": 3, "total": 6, "message": "half\x1b"}
    assert drawn(0.55, half)[0] == "| 0 s [############............] 3/6 half\\x1b"
    assert "[........................] -1/6" in drawn(0.55, {"progress": -1, "total": 6})[0]
    assert "[########################] 9/6" in drawn(0.55, {"progress": 9, "total": 6})[0]


def test_a_message_of_megabytes_costs_a_line() -> None:
    """F-SHOW-3: only its beginning is looked at, or each turn would take seconds."""
    report: dict[str, object] = {"progress": 1, "message": "ж" * 2_000_000}
    tracemalloc.start()
    line = drawn(0.55, report)[0]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert line == "| 0 s 1 " + "ж" * 70 + "…"
    assert peak < 1_000_000


def test_numbers_that_are_none() -> None:
    """F-SHOW-3: whatever a server counts, the line goes on."""
    nan, infinity, huge = float("nan"), float("inf"), 10**400
    empty, full = "." * 24, "#" * 24
    for progress, total, shown in (
        (nan, 2, f"[{empty}] nan/2"),
        (infinity, infinity, f"[{empty}] inf/inf"),
        (infinity, 2, f"[{full}] inf/2"),
        (huge, 2, f"[{full}] inf/2"),
        (huge, 2 * huge, f"[{empty}] inf/inf"),
        (huge, None, "inf"),
    ):
        report: dict[str, object] = {"progress": progress, "total": total}
        assert drawn(0.55, report)[0].strip() == f"| 0 s {shown}"


def test_unknown_totals_make_a_number() -> None:
    assert drawn(0.55, {"progress": 3}, {"progress": 4.5})[0] == "| 0 s 4.5 "


def test_a_shorter_line_covers_the_longer_one() -> None:
    stream = Terminal()

    async def call() -> None:
        async with StatusLine(stream) as line:
            line.update(Progress({"progress": 1, "message": "a long message"}))
            await asyncio.sleep(0.55)
            line.update(Progress({"progress": 2, "message": "short"}))
            await asyncio.sleep(0.1)

    virtual_time.run(call())
    first, second, *_ = stream.getvalue().split("\r")[1:]
    assert second == "/ 1 s 2 short".ljust(len(first))


def test_the_line_never_wraps() -> None:
    assert drawn(0.55, {"progress": 1, "message": "x" * 99}, columns=20)[0] == "| 0 s 1 xxxxxxxxxx…"


def test_other_output_erases_it_first() -> None:
    stream = Terminal()

    async def call() -> None:
        async with StatusLine(stream) as line:
            await asyncio.sleep(0.55)
            line.erase()
            stream.write("other\n")

    virtual_time.run(call())
    assert stream.getvalue() == "\r| 0 s\r     \rother\n"


def test_nothing_is_drawn_where_there_is_no_terminal() -> None:
    assert drawn(5, {"progress": 1}, columns=None) == []


def test_what_the_encoding_lacks_is_written_out() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), "ascii")

    async def call() -> None:
        async with StatusLine(stream) as line:
            line.update(Progress({"progress": 1, "message": "für"}))
            await asyncio.sleep(0.55)

    virtual_time.run(call())
    stream.seek(0)
    assert stream.read().strip() == r"| 0 s 1 f\xfcr"
