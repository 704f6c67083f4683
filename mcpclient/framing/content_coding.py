"""Undo ``Content-Encoding`` piece by piece (RFC 9110, section 8.4): gzip, deflate, identity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..errors import MessageTooLarge, ProtocolViolation

if TYPE_CHECKING:
    import zlib
else:
    try:
        import zlib
    except ImportError:  # a Python built without it
        zlib = None

ACCEPT_ENCODING = "identity" if zlib is None else "gzip, deflate"
"""The value for ``Accept-Encoding``: what `ContentDecoder` can undo, and nothing else."""

MAX_CODINGS = 4
"""The most codings that one body may have on top of each other."""

MAX_PIECE = 65_536
"""The most bytes in one piece of decompressed output."""

# DEFLATE expands one byte to at most 1032 (RFC 1951, section 3.2.5), so one coding never reaches
# this. Several on top of each other could expand a kilobyte to a terabyte; they are limited, too.
_MAX_EXPANSION = 1100
_FREE_EXPANSION = 1 << 20

# zlib copies its unused input each time its output is full, so it gets small slices.
_INPUT_SLICE = 16_384


class ContentDecoder:
    """One body's decoded bytes, for one value of ``Content-Encoding``; empty means no coding.

    No bytes make it raise. The output is an iterator of pieces of at most `MAX_PIECE` bytes, some
    of them empty, so that the expansion of a small input is never in memory at once, and a caller
    can stop or yield to other tasks between two pieces.

    ``max_output`` bounds the bytes that each coding of the whole body decodes to; None is for event
    streams, whose events are bounded one by one. Several codings together may expand no more than a
    single one could.

    ``fault``: why the body cannot be decoded, ready to be raised: `ProtocolViolation` for an
    unknown coding, broken data or a bomb, `MessageTooLarge` for more than ``max_output`` bytes.
    After a fault, all input is ignored.
    """

    __slots__ = ("_layers", "_received", "fault")

    def __init__(self, content_encoding: str, max_output: int | None) -> None:
        self.fault: ProtocolViolation | None = None
        self._layers: list[_Identity] = []
        self._received = 0
        names = [name.strip(" \t").lower() for name in content_encoding.split(",")]
        names = [name for name in names if name] or ["identity"]
        unknown = [name for name in names if name not in _CODINGS]
        used = "the server used"
        if unknown:
            shown = unknown[0][:40]
            self.fault = ProtocolViolation(f"{used} an unsupported Content-Encoding: {shown!r}")
        elif len(names) > MAX_CODINGS:
            many = f"{used} more than {MAX_CODINGS} content codings on one body"
            self.fault = ProtocolViolation(many)
        else:
            # The header lists them in the order they were applied, so the last comes off first.
            self._layers = [_CODINGS[name](max_output) for name in reversed(names)]

    def decode(self, data: bytes) -> Iterator[bytes]:
        """Yield the decoded bytes; exhaust the iterator before the next call."""
        if self.fault is not None:
            return
        self._received += len(data)
        expansion = _FREE_EXPANSION + _MAX_EXPANSION * self._received
        pieces: Iterator[bytes] = iter((data,))
        for layer in self._layers:
            pieces = layer.decode(pieces, expansion)
        try:
            yield from pieces
        except ProtocolViolation as violation:
            # The traceback would keep the decoders and their data alive.
            self.fault = violation.with_traceback(None)
        except zlib.error as error:
            self.fault = ProtocolViolation(f"a response's content coding is broken: {error}")

    def finish(self) -> None:
        """Mark the end of the body; one that was cut short becomes the `fault`."""
        if self.fault is None and any(layer.incomplete for layer in self._layers):
            self.fault = ProtocolViolation("a response's body ends inside its content coding")


class _Identity:
    """The coding that changes nothing, and the base of all codings: it counts the output."""

    def __init__(self, max_output: int | None) -> None:
        self._max_output = max_output
        self._output = 0

    @property
    def incomplete(self) -> bool:
        """Whether the coded data has begun but not ended."""
        return False

    def decode(self, pieces: Iterator[bytes], expansion: int) -> Iterator[bytes]:
        """Decode pieces as they are asked for, to at most ``expansion`` bytes in all."""
        for piece in pieces:
            for output in self._expand(piece):
                self._output += len(output)
                if self._max_output is not None and self._output > self._max_output:
                    raise MessageTooLarge(self._max_output)
                if self._output > expansion:
                    raise ProtocolViolation("the response is a decompression bomb")
                yield output

    def _expand(self, data: bytes) -> Iterator[bytes]:
        if data:
            yield data


class _Gzip(_Identity):
    """The gzip format (RFC 1952), of one or more members; zeros may pad it, as in a tape block."""

    def __init__(self, max_output: int | None) -> None:
        super().__init__(max_output)
        self._inflater: zlib._Decompress | None = None
        self._members = 0  # that have ended

    @property
    def incomplete(self) -> bool:
        return self._inflater is not None

    def _expand(self, data: bytes) -> Iterator[bytes]:
        for begin in range(0, len(data), _INPUT_SLICE):
            yield from self._inflate(data[begin : begin + _INPUT_SLICE])

    def _inflate(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._inflater is None:
                data = self._open(data)
            if self._inflater is None:
                return
            more = True
            while more:
                output = self._inflater.decompress(data, MAX_PIECE)
                yield output
                data = self._inflater.unconsumed_tail
                # A full piece may leave output behind in zlib even when all input is used.
                more = bool(data) or len(output) == MAX_PIECE
            if self._inflater.eof:
                data = self._inflater.unused_data
                self._inflater = None
                self._members += 1

    def _open(self, data: bytes) -> bytes:
        """Begin a member if there is one; return the data that belongs to it."""
        if self._members:
            data = data.lstrip(b"\0")
        if data:
            self._inflater = zlib.decompressobj(16 + zlib.MAX_WBITS)
        return data


class _Deflate(_Gzip):
    """The zlib format (RFC 1950), or raw deflate data, which some servers send by that name."""

    def __init__(self, max_output: int | None) -> None:
        super().__init__(max_output)
        self._first = b""  # a first byte that came alone

    @property
    def incomplete(self) -> bool:
        return bool(self._first) or super().incomplete

    def _open(self, data: bytes) -> bytes:
        if self._members:
            raise ProtocolViolation("a response's body goes on after the end of its content coding")
        data = self._first + data
        self._first = b""
        if len(data) == 1:
            self._first = data
        elif data[0] & 0x8F == 8 and (data[0] * 256 + data[1]) % 31 == 0:
            self._inflater = zlib.decompressobj(zlib.MAX_WBITS)
        else:
            self._inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        return data


_CODINGS = {"identity": _Identity}
if zlib is not None:
    _CODINGS.update({"gzip": _Gzip, "x-gzip": _Gzip, "deflate": _Deflate})
