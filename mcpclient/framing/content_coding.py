"""Undo ``Content-Encoding`` piece by piece (RFC 9110, section 8.4): gzip, deflate, identity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..errors import ProtocolViolation

if TYPE_CHECKING:
    import zlib
else:
    try:
        import zlib
    except ImportError:  # a Python built without it
        zlib = None

ACCEPT_ENCODING = "identity" if zlib is None else "gzip, deflate"
"""The value for ``Accept-Encoding``: what `ContentDecoder` can undo, and nothing else."""

MAX_PIECE = 65_536
"""The most bytes in one piece of decompressed output."""

# zlib copies its unused input each time its output is full, so it gets small slices.
_INPUT_SLICE = 16_384


class ContentDecoder:
    """One body's decoded bytes, for one value of ``Content-Encoding``; empty means no coding.

    No bytes make it raise. The output is an iterator of pieces of at most `MAX_PIECE` bytes, some
    of them empty, so that the expansion of a small input is never in memory at once, and a caller
    can stop or yield to other tasks between two pieces: DEFLATE expands a byte to 1032 at most (RFC
    1951, section 3.2.5).

    ``fault``: why the body cannot be decoded, ready to be raised: an unknown coding, several on top
    of each other, or broken data. After a fault, all input is ignored.
    """

    def __init__(self, content_encoding: str) -> None:
        self.fault: ProtocolViolation | None = None
        self._inflater: zlib._Decompress | None = None
        self._members = 0  # that have ended
        self._first = b""  # a first byte of deflate data that came alone
        names = [name.strip(" \t").lower() for name in content_encoding.split(",")]
        names = [name for name in names if name not in ("", "identity")]
        self._coding = ",".join(names)
        if names and self._coding not in _CODINGS:
            shown = self._coding[:40]
            reason = f"the server used an unsupported Content-Encoding: {shown!r}"
            self.fault = ProtocolViolation(reason)

    def decode(self, data: bytes) -> Iterator[bytes]:
        """Yield the decoded bytes; exhaust the iterator before the next call."""
        if self.fault is not None or not data:
            return
        try:
            yield from self._inflated(data) if self._coding else (data,)
        except ProtocolViolation as violation:
            # The traceback would keep the decoder and its data alive.
            self.fault = violation.with_traceback(None)
        except zlib.error as error:
            self.fault = ProtocolViolation(f"a response's content coding is broken: {error}")

    def finish(self) -> None:
        """Mark the end of the body; one that was cut short becomes the `fault`."""
        if self.fault is None and (self._inflater is not None or self._first):
            self.fault = ProtocolViolation("a response's body ends inside its content coding")

    def _inflated(self, data: bytes) -> Iterator[bytes]:
        for begin in range(0, len(data), _INPUT_SLICE):
            rest = data[begin : begin + _INPUT_SLICE]
            while rest:
                if self._inflater is None:
                    rest = self._open(rest)
                if self._inflater is None:
                    break
                more = True
                while more:
                    output = self._inflater.decompress(rest, MAX_PIECE)
                    yield output
                    rest = self._inflater.unconsumed_tail
                    # A full piece may leave output behind in zlib even when all input is used.
                    more = bool(rest) or len(output) == MAX_PIECE
                if self._inflater.eof:
                    rest = self._inflater.unused_data
                    self._inflater = None
                    self._members += 1

    def _open(self, data: bytes) -> bytes:
        """Begin a member if there is one; return the data that belongs to it."""
        if self._coding != "deflate":
            # gzip (RFC 1952) has one or more members; zeros may pad it, as in a tape block.
            data = data.lstrip(b"\0") if self._members else data
            if data:
                self._inflater = zlib.decompressobj(16 + zlib.MAX_WBITS)
            return data
        if self._members:
            raise ProtocolViolation("a response's body goes on after the end of its content coding")
        data, self._first = self._first + data, b""
        if len(data) == 1:
            self._first = data
            return b""
        # The zlib format (RFC 1950), or raw deflate data, which some servers send by that name.
        is_zlib = data[0] & 0x8F == 8 and (data[0] * 256 + data[1]) % 31 == 0
        self._inflater = zlib.decompressobj(zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS)
        return data


_CODINGS = () if zlib is None else ("gzip", "x-gzip", "deflate")
