"""F-SHOW-2: streams that are closed, full, missing, or no terminal."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pytest

from mcpclient.cli.main import columns_of, is_terminal, write_to


class Terminal(io.StringIO):
    """A terminal of so many columns; None: it does not say."""

    def __init__(self, columns: int | None) -> None:
        super().__init__()
        self.columns = columns

    def isatty(self) -> bool:
        super().isatty()
        return True

    def fileno(self) -> int:
        return 1


@pytest.fixture
def terminal_size(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.delenv("COLUMNS", raising=False)

    def become(columns: int | None) -> None:
        def answer(descriptor: int) -> os.terminal_size:
            if columns is None:
                raise OSError("inappropriate ioctl")
            return os.terminal_size((columns, 20))

        monkeypatch.setattr(os, "get_terminal_size", answer)

    return become


@pytest.mark.parametrize(("says", "columns"), [(132, 132), (0, 80), (None, 80)])
def test_the_width_is_what_the_terminal_says(terminal_size: Any, says: Any, columns: int) -> None:
    terminal_size(says)
    assert columns_of(Terminal(says)) == columns


@pytest.mark.parametrize(("value", "columns"), [("40", 40), ("wide", 132)])
def test_columns_of_the_environment_count_more(
    terminal_size: Any, monkeypatch: pytest.MonkeyPatch, value: str, columns: int
) -> None:
    terminal_size(132)
    monkeypatch.setenv("COLUMNS", value)
    assert columns_of(Terminal(132)) == columns


def test_what_is_no_terminal_has_no_width() -> None:
    closed = Terminal(80)
    closed.close()
    for stream in (None, io.StringIO(), closed):
        assert not is_terminal(stream)
        assert columns_of(stream) is None


def test_a_closed_stream_is_told() -> None:
    for stream in (None, io.TextIOWrapper(io.BytesIO())):
        if stream is not None:
            stream.close()
        assert write_to(stream, "x") == "it is closed"
        assert write_to(stream, b"x") == "it is closed"


def test_text_is_written_in_the_encoding_of_the_stream() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", newline="")
    assert write_to(stream, "grün\n") is None
    assert write_to(stream, b"\xff") is None
    assert raw.getvalue() == b"gr\\xfcn\n\xff"


def test_a_reader_that_has_gone_is_no_fault(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w", encoding="utf-8") as stream:
        assert write_to(stream, "x") is None
        assert write_to(stream, "what follows goes nowhere") is None


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_a_full_disk_is_told() -> None:
    with open("/dev/full", "w", encoding="utf-8") as stream:
        assert write_to(stream, "x") == "No space left on device"
    with open("/dev/full", "w", encoding="utf-8") as stream:
        assert write_to(stream, b"x") == "No space left on device"
