"""Lines of JSON from bytes in any chunking: F-WIRE-3."""

from __future__ import annotations

from mcpclient.framing.ndjson import Line, LineFramer, OversizedLine
from tests.support.tables import each_row

from .chunkings import chunkings

LIMIT = 20


def frame(pieces: list[bytes], limit: int = LIMIT) -> list[Line]:
    framer = LineFramer(limit)
    return [line for piece in pieces for line in framer.feed(piece)] + framer.feed_eof()


CASES: dict[str, tuple[bytes, list[Line]]] = {
    "nothing": (b"", []),
    "one line": (b"{}\n", [b"{}"]),
    "two lines": (b"[1]\n[2]\n", [b"[1]", b"[2]"]),
    "blank lines": (b"\n\n{}\n\n", [b"", b"", b"{}", b""]),
    "crlf stays for json to skip": (b"{}\r\n{}\r\n", [b"{}\r", b"{}\r"]),
    "a bare cr ends nothing": (b"a\rb\n", [b"a\rb"]),
    "no end at the end": (b"{}\n[1]", [b"{}", b"[1]"]),
    "byte order mark": (b"\xef\xbb\xbf{}\n", [b"\xef\xbb\xbf{}"]),
    "not utf-8": (b"\xff\xfe\n{}\n", [b"\xff\xfe", b"{}"]),
    "u+2028 2029 0085": ('"\u2028\u2029\u0085"\n'.encode(), ['"\u2028\u2029\u0085"'.encode()]),
    "vertical tab and form feed": (b"\x0b\x0c\x1c\n", [b"\x0b\x0c\x1c"]),
    "just at the limit": (b"x" * 20 + b"\n", [b"x" * 20]),
    "just over the limit": (b"x" * 21 + b"\n", [OversizedLine(b"x" * 21, b"x" * 21, 21)]),
    "oversized first": (b"y" * 30 + b"\n{}\n", [OversizedLine(b"y" * 30, b"y" * 30, 30), b"{}"]),
    "oversized between": (
        b"{}\n" + b"y" * 25 + b"\n[]\n",
        [b"{}", OversizedLine(b"y" * 25, b"y" * 25, 25), b"[]"],
    ),
    "oversized without an end": (
        b"{}\n" + b"z" * 22,
        [b"{}", OversizedLine(b"z" * 22, b"z" * 22, 22)],
    ),
    "two oversized in a row": (
        b"a" * 21 + b"\n" + b"b" * 21 + b"\n",
        [OversizedLine(b"a" * 21, b"a" * 21, 21), OversizedLine(b"b" * 21, b"b" * 21, 21)],
    ),
}


@each_row("name", CASES)
def test_lines_do_not_depend_on_chunks(name: str) -> None:
    """F-WIRE-3: whole, byte by byte, and cut anywhere, the lines are the same."""
    data, expected = CASES[name]
    for pieces in chunkings(data):
        assert frame(pieces) == expected, pieces
