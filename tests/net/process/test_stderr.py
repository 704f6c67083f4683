"""The targets of stderr: every kind of target, whole and in pieces, and the memory of the tail."""

from __future__ import annotations

import io
import logging
import os
import sys
import tracemalloc
from typing import Any

import pytest

from mcpclient.errors import UsageError
from mcpclient.net.process.stderr import StderrTee

TEXT = "größe\r\nzweite Zeile\nohne Ende"


def feed(tee: StderrTee, data: bytes, size: int) -> None:
    for start in range(0, len(data), size):
        tee.write(data[start : start + size])
    tee.write(b"")


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_streams_of_text_and_of_bytes_get_everything(size: int) -> None:
    """F-STD-4: StringIO has no descriptor, and neither has Jupyter's stream."""
    text, data = io.StringIO(newline=""), io.BytesIO()
    feed(StderrTee(text), TEXT.encode() + b"\xff", size)
    feed(StderrTee(data), TEXT.encode() + b"\xff", size)
    assert text.getvalue() == TEXT + "�"
    assert data.getvalue() == TEXT.encode() + b"\xff"


def test_a_logger_gets_a_record_for_each_line(caplog: pytest.LogCaptureFixture) -> None:
    """F-STD-4"""
    caplog.set_level(logging.INFO, "server")
    feed(StderrTee(logging.getLogger("server")), b"100%s\n\x1b[2Jb\n", 100)
    assert [record.getMessage() for record in caplog.records] == ["100%s", r"\x1b[2Jb"]


def test_inherit_writes_to_what_sys_stderr_is_at_the_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-STD-4"""
    tee = StderrTee("inherit")
    tee.write(b"first\n")
    assert capsys.readouterr().err == "first\n"
    replaced = io.StringIO()
    monkeypatch.setattr(sys, "stderr", replaced)
    tee.write(b"second\n")
    monkeypatch.setattr(sys, "stderr", None)
    tee.write(b"third\n")
    assert replaced.getvalue() == "second\n"
    assert tee.tail() == "first\nsecond\nthird\n"


@pytest.mark.needs_posix
def test_inherit_does_not_block_on_a_stderr_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-STD-4: what does not fit is dropped, and flows again when there is room."""
    reading, writing = os.pipe()
    with open(reading, "rb", buffering=0) as reader, open(writing, "w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stderr", full)
        tee = StderrTee("inherit")
        tee.write("ä".encode() * 500_000)  # would block for ever here
        assert len(os.read(reader.fileno(), 1 << 20)) >= 16 * 1024
        tee.write(b"later")
        assert os.read(reader.fileno(), 1 << 20).endswith(b"later")
        assert tee.tail(5) == "later"


def test_a_target_that_raises_is_logged_once_and_still_served(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """F-STD-4"""
    seen: list[str] = []

    def raises(line: str) -> None:
        seen.append(line)
        raise RuntimeError("broken callback")

    tee = StderrTee(raises)
    for line in (b"a\n", b"b\n", b"c\n"):
        tee.write(line)
    assert seen == ["a", "b", "c"] and tee.tail() == "a\nb\nc\n"
    assert caplog.text.count("RuntimeError: broken callback") == 1


def test_the_tail_is_the_last_64_kib() -> None:
    """F-STD-4: little more than that is kept of any output."""
    tee = StderrTee("discard")
    tracemalloc.start()
    try:
        for number in range(400):
            tee.write(b"%06d\n" % number * 1000)
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert kept < 1024 * 1024
    assert len(tee.tail()) == 64 * 1024
    assert tee.tail(7) == "000399\n"


def test_the_tail_does_not_begin_within_a_character() -> None:
    """F-STD-4"""
    tee = StderrTee("discard")
    tee.write("ab€c".encode())
    assert [tee.tail(size) for size in (1, 2, 3, 4, 5, 6, 9)] == [
        "c", "c", "c", "€c", "b€c", "ab€c", "ab€c",
    ]  # fmt: skip
    tee.write(b"\x80")
    assert tee.tail(2) == "c�"


@pytest.mark.parametrize("target", ["stdout", None, 3])
def test_what_is_no_target_is_refused(target: Any) -> None:
    """F-STD-4"""
    with pytest.raises(UsageError, match="stderr must be"):
        StderrTee(target)
