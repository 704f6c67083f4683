"""Compressed bodies: F-WIRE-5."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib

from mcpclient.errors import ProtocolViolation
from mcpclient.framing.content_coding import MAX_PIECE, ContentDecoder
from tests.support.tables import each_row

from .chunkings import chunkings

TEXT = b'{"jsonrpc": "2.0", "result": "hello hello hello"}'


def gzipped(data: bytes) -> bytes:
    # The time in the header would be part of the tests' names, which have to be the same each time.
    return gzip.compress(data, mtime=0)


def raw_deflate(data: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush()


def decode(coding: str, pieces: list[bytes]) -> tuple[bytes, ProtocolViolation | None]:
    decoder = ContentDecoder(coding)
    found = b"".join(output for piece in pieces for output in decoder.decode(piece))
    decoder.finish()
    return found, decoder.fault


GOOD = {
    "none": ("", TEXT),
    "identity": ("Identity", TEXT),
    "gzip": ("gzip", gzipped(TEXT)),
    "x-gzip": (" X-GZip ", gzipped(TEXT)),
    "zlib": ("deflate", zlib.compress(TEXT)),
    "raw": ("deflate", raw_deflate(TEXT)),
    # Its first byte could begin the other format; the second could not.
    "raw stored": ("deflate", b"\x08\x31\x00\xce\xff" + TEXT + b"\x03\x00"),
    "beside identity": ("identity, deflate,, identity", zlib.compress(TEXT)),
    "members": ("gzip", gzipped(TEXT[:9]) + gzipped(b"") + gzipped(TEXT[9:])),
    "padded": ("gzip", gzipped(TEXT[:9]) + b"\0" * 9 + gzipped(TEXT[9:]) + b"\0" * 9),
}


@each_row("name", [name for name in GOOD if name not in ("none", "identity")])
def test_a_truncated_body_is_a_fault(name: str) -> None:
    """F-WIRE-5: a body that ends too early is never taken for a whole one."""
    coding, body = GOOD[name]
    for end in range(1, len(body)):
        found, fault = decode(coding, [body[:end]])
        assert TEXT.startswith(found)
        if fault is None:  # then only whole members and padding are there
            assert name in ("members", "padded")
            assert found in (TEXT, TEXT[:9])
        else:
            assert "ends inside" in fault.reason


@each_row(
    ("coding", "body", "reason"),
    [
        ("gzip", TEXT, "content coding is broken"),
        ("gzip", zlib.compress(TEXT), "content coding is broken"),
        ("gzip", b"\0" + gzipped(TEXT), "content coding is broken"),
        ("deflate", gzipped(TEXT), "content coding is broken"),
        ("gzip", gzipped(TEXT)[:-8] + b"\1" * 8, "content coding is broken"),
        ("deflate", zlib.compress(TEXT)[:-1] + b"\1", "content coding is broken"),
        ("gzip", gzipped(TEXT) + b"rubbish here", "content coding is broken"),
        ("deflate", zlib.compress(TEXT) + b"rubbish", "goes on after the end"),
        ("deflate", raw_deflate(TEXT) + b"r", "goes on after the end"),
        ("gzip, deflate", zlib.compress(gzipped(TEXT)), "Content-Encoding: 'gzip,deflate'"),
        ("br", TEXT, "unsupported Content-Encoding: 'br'"),
        ("zstd, identity", TEXT, "unsupported Content-Encoding: 'zstd'"),
        ("chunked", TEXT, "unsupported Content-Encoding"),
    ],
)
def test_bad_bodies_are_faults(coding: str, body: bytes, reason: str) -> None:
    """F-WIRE-5: a broken or unknown coding is a recorded fault, in any chunking."""
    for pieces in chunkings(body):
        found, fault = decode(coding, pieces)
        assert fault is not None
        assert reason in fault.reason
        assert TEXT.startswith(found)


def test_a_bomb_costs_little() -> None:
    """F-WIRE-5: what expands a thousandfold comes in pieces, and is never in memory at once."""
    bomb = gzipped(b"\0" * 20_000_000)
    tracemalloc.start()
    sizes = [len(piece) for piece in ContentDecoder("gzip").decode(bomb)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sum(sizes) == 20_000_000
    assert max(sizes) <= MAX_PIECE
    assert peak < 1_000_000


def test_an_event_stream_is_decoded_as_it_comes() -> None:
    """F-WIRE-5: what the server has flushed comes out at once; nothing waits for the end."""
    for window in (31, 15, -15):
        decoder = ContentDecoder("gzip" if window == 31 else "deflate")
        compressor = zlib.compressobj(wbits=window)
        for number in range(5):
            event = b"data: %d\n\n" % number
            flushed = compressor.compress(event) + compressor.flush(zlib.Z_SYNC_FLUSH)
            assert b"".join(decoder.decode(flushed)) == event
        decoder.finish()
        assert decoder.fault is not None
