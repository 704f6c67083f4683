"""Long texts in files of their own."""

from __future__ import annotations

import os
from pathlib import Path

from mcpclient.net.files import save_text


def test_each_text_gets_a_private_file_of_its_own() -> None:
    """F-TOOL-8: line ends stay as they are."""
    first, second = save_text("a\r\nb\n"), save_text("é")
    try:
        assert first != second
        assert Path(first).read_bytes() == b"a\r\nb\n"
        assert Path(second).read_bytes() == "é".encode()
        if os.name == "posix":
            assert Path(first).stat().st_mode & 0o777 == 0o600
    finally:
        Path(first).unlink()
        Path(second).unlink()
