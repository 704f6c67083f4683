"""WebSocket frames as bytes: heads, masking, close payloads, messages (RFC 6455 sections 5, 7.4).

permessage-deflate, their compression (RFC 7692), is at the end. The order of frames is checked by
`mcpclient.framing.websocket`.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import built_without

if TYPE_CHECKING:
    import zlib

# Opcodes, RFC 6455 section 5.2. From CLOSE on they are control frames.
CONTINUATION = 0x0
TEXT = 0x1
BINARY = 0x2
CLOSE = 0x8
PING = 0x9
PONG = 0xA

# The other bits of a frame's first byte.
FINAL = 0x80
RESERVED_1 = 0x40

MAX_CONTROL_PAYLOAD = 125

CLOSE_CODES = {
    1000: "normal closure",
    1001: "going away",
    1002: "protocol error",
    1003: "unsupported data",
    1005: "no code given",
    1007: "invalid data",
    1008: "policy violation",
    1009: "message too big",
    1010: "a needed extension is missing",
    1011: "internal error",
    1012: "service restart",
    1013: "try again later",
    1014: "bad gateway",
}
"""The close codes of the IANA registry by name; 1005 is never on the wire."""

# Masking goes block by block: the integers of a block stay in the processor's cache, and a large
# message needs no second copy of itself. A multiple of the key's four bytes.
_MASK_BLOCK = 32768


class FrameViolation(Exception):
    """The server broke the protocol. Fields: ``code`` to close with, and ``reason``."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(code, reason)
        self.code = code
        self.reason = reason


def encode_frame(first_byte: int, payload: bytes, mask_key: bytes) -> bytes:
    """Return a masked frame (RFC 6455 sections 5.2 and 5.3). ``first_byte``: opcode and flags."""
    length = len(payload)
    if length < 126:
        head = bytes((first_byte, 0x80 | length)) + mask_key
    elif length < 0x10000:
        head = bytes((first_byte, 0x80 | 126)) + length.to_bytes(2, "big") + mask_key
    else:
        head = bytes((first_byte, 0x80 | 127)) + length.to_bytes(8, "big") + mask_key
    if length <= _MASK_BLOCK:
        return head + _mask(payload, _repeat(mask_key, length))
    frame = io.BytesIO()
    frame.write(head)
    mask = _repeat(mask_key, _MASK_BLOCK)
    view = memoryview(payload)
    whole = length - length % _MASK_BLOCK
    for start in range(0, whole, _MASK_BLOCK):
        frame.write(_mask(view[start : start + _MASK_BLOCK], mask))
    frame.write(_mask(view[whole:], _repeat(mask_key, length - whole)))
    return frame.getvalue()


def _repeat(mask_key: bytes, length: int) -> int:
    """Return the mask for ``length`` bytes of payload, as a little-endian number."""
    return int.from_bytes((mask_key * (length // 4 + 1))[:length], "little")


def _mask(payload: bytes | memoryview, mask: int) -> bytes:
    """Return the payload XOR a mask of its length, as one operation on two large numbers."""
    return (int.from_bytes(payload, "little") ^ mask).to_bytes(len(payload), "little")


def read_head(data: bytes, position: int) -> tuple[int, int, int] | None:
    """Read the head of a server's frame: its first byte, payload length and payload position.

    None while it is incomplete. Raises `FrameViolation` for a masked frame and for a length that is
    not encoded as section 5.2 demands (shortest form, top bit zero).
    """
    start = position + 2
    if len(data) < start:
        return None
    length = data[position + 1]
    if length < 126:
        return data[position], length, start
    if length & 0x80:
        raise FrameViolation(1002, "the server masked a frame")
    size = 2 if length == 126 else 8
    if len(data) < start + size:
        return None
    length = int.from_bytes(data[start : start + size], "big")
    if length >> 63:
        raise FrameViolation(1002, "the server sent a frame length with its top bit set")
    if length < (126 if size == 2 else 0x10000):
        raise FrameViolation(1002, "the server sent a frame length that is longer than needed")
    return data[position], length, start + size


def is_wire_close_code(code: int) -> bool:
    """Whether a close frame may carry this code: in the registry, or 3000 to 4999."""
    return 3000 <= code <= 4999 or (code in CLOSE_CODES and code != 1005)


def encode_close(code: int, reason: str) -> bytes:
    """Return the payload of a close frame; for 1005 ("no code given") that is empty."""
    return b"" if code == 1005 else code.to_bytes(2, "big") + reason.encode("utf-8", "replace")


def parse_close(payload: bytes) -> tuple[int, str]:
    """Return code and reason of a close frame; an empty payload is 1005 without a reason.

    Raises `FrameViolation` for half a code, an illegal one, and a reason that is not UTF-8.
    """
    if not payload:
        return 1005, ""
    if len(payload) == 1:
        raise FrameViolation(1002, "the server sent a close frame with half a code")
    code = int.from_bytes(payload[:2], "big")
    if not is_wire_close_code(code):
        raise FrameViolation(1002, f"the server closed with the illegal code {code}")
    try:
        return code, payload[2:].decode()
    except UnicodeDecodeError:
        raise FrameViolation(1007, "the server sent a close reason that is not UTF-8") from None


class MessageAssembly:
    """An incomplete text or binary message, of at most ``limit`` bytes, on the wire and inflated.

    ``inflater`` is the connection's if the message is compressed, else None. Every method raises
    `FrameViolation`: 1009 for a message over the limit, 1007 for text that is not UTF-8 and for
    compressed data that cannot be read.
    """

    def __init__(self, *, is_text: bool, limit: int, inflater: MessageCodec | None) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")().decode if is_text else None
        self._text = io.StringIO()
        self._data = io.BytesIO()
        self._limit = limit
        self._inflater = inflater
        self._expected = 0
        self._inflated = 0

    def expect(self, length: int) -> None:
        """Begin a frame of the message, with ``length`` bytes of payload."""
        self._expected += length
        self._check_size(self._expected)

    def add(self, payload: memoryview) -> None:
        """Add a piece of the payload that `expect` has announced."""
        if self._inflater is None:
            self._write(payload)
        else:
            self._add_inflated(self._inflater.inflate(payload))

    def finish(self) -> str | bytes:
        """Return the text or the bytes of the complete message."""
        if self._inflater is not None:
            self._add_inflated(self._inflater.finish())
        self._write(b"", final=True)
        return self._data.getvalue() if self._decode is None else self._text.getvalue()

    def _add_inflated(self, pieces: Iterator[bytes]) -> None:
        import zlib

        try:
            for piece in pieces:
                self._inflated += len(piece)
                self._check_size(self._inflated)
                self._write(piece)
        except zlib.error as error:
            reason = f"the server sent compressed data that cannot be read: {error}"
            raise FrameViolation(1007, reason) from None

    def _check_size(self, size: int) -> None:
        if size > self._limit:
            raise FrameViolation(1009, f"the server sent a message larger than {self._limit} bytes")

    def _write(self, piece: bytes | memoryview, *, final: bool = False) -> None:
        if self._decode is None:
            self._data.write(piece)
            return
        try:
            self._text.write(self._decode(piece, final))
        except UnicodeDecodeError as error:
            raise _not_utf8(error) from None


def decode_text(payload: memoryview) -> str:
    """Decode a text message that came in one piece. Raises `FrameViolation` with code 1007."""
    try:
        return str(payload, "utf-8")
    except UnicodeDecodeError as error:
        raise _not_utf8(error) from None


def _not_utf8(error: UnicodeDecodeError) -> FrameViolation:
    return FrameViolation(1007, f"the server sent text that is not UTF-8: {error.reason}")


OFFER = "permessage-deflate; client_max_window_bits"
"""The offer of a client: the server may choose every parameter."""

_NAME = "permessage-deflate"
_PARAMETER = re.compile(
    r"(?P<flag>(?:server|client)_no_context_takeover)"
    r"|(?P<bits>(?:server|client)_max_window_bits)\s*=\s*(?P<quote>\"?)(?P<value>8|9|1[0-5])(?P=quote)"
)

# An empty stored block ends every flush; it is taken off the wire and put back (section 7.2.1).
_TAIL = b"\x00\x00\xff\xff"

_SMALLEST = 1024

# Compressed bytes are inflated in steps, so that neither a highly compressed piece (up to 1032
# times its size) nor a large one is ever held more than once.
_INPUT_STEP = 1 << 16
_OUTPUT_STEP = 1 << 20


class DeflateParameters(NamedTuple):
    """The agreed parameters; the defaults come from RFC 7692 section 7.1."""

    server_no_context_takeover: bool = False
    client_no_context_takeover: bool = False
    server_max_window_bits: int = 15
    client_max_window_bits: int = 15


def parse_extension_answer(value: str) -> DeflateParameters:
    """Read the server's ``Sec-WebSocket-Extensions`` as an answer to `OFFER`.

    Raises ValueError, with a reason fit for a user, for any other extension, and for a parameter
    that is unknown, repeated or malformed.
    """
    name, *parameters = [text.strip() for text in value.strip(", \t").split(";")]
    if name != _NAME:
        raise ValueError(f"the server chose the extension {name!r}, which was not offered")
    found: dict[str, Any] = {}
    for parameter in parameters:
        match = _PARAMETER.fullmatch(parameter)
        key = match and (match["flag"] or match["bits"])
        if match is None or not key or key in found:
            raise ValueError(f"the server answered the extension parameter {parameter!r}")
        found[key] = int(match["value"]) if match["bits"] else True
    return DeflateParameters(**found)


class MessageCodec:
    """Compresses the messages a client sends, and decompresses a server's piece by piece."""

    def __init__(self, parameters: DeflateParameters) -> None:
        self._parameters = parameters
        self._compressor: zlib._Compress | None = None
        self._decompressor = _new_decompressor()

    def wants(self, size: int) -> bool:
        """Whether to compress a message of ``size`` bytes; RFC 7692 section 6 leaves it to us."""
        # A small one costs more time than it saves; zlib cannot write with a window of 256 bytes.
        return size >= _SMALLEST and self._parameters.client_max_window_bits > 8

    def deflate(self, payload: bytes) -> bytes:
        """Return the compressed payload of one whole message, one for which `wants` says yes."""
        import zlib

        compressor = self._compressor
        if compressor is None:
            compressor = zlib.compressobj(wbits=-self._parameters.client_max_window_bits)
        compressed = compressor.compress(payload) + compressor.flush(zlib.Z_SYNC_FLUSH)
        forgets = self._parameters.client_no_context_takeover
        self._compressor = None if forgets else compressor
        return compressed[: -len(_TAIL)]

    def inflate(self, payload: memoryview) -> Iterator[bytes]:
        """Inflate a piece of a payload, at most 1 MiB of output at a time. Raises zlib.error."""
        for start in range(0, len(payload), _INPUT_STEP):
            yield from self._inflate_step(payload[start : start + _INPUT_STEP])

    def finish(self) -> Iterator[bytes]:
        """Yield the rest of the message, after its last piece; the next call begins a new one."""
        if not self._decompressor.eof:
            yield from self._inflate_step(_TAIL)
        if self._decompressor.eof or self._parameters.server_no_context_takeover:
            self._decompressor = _new_decompressor()

    def _inflate_step(self, data: bytes | memoryview) -> Iterator[bytes]:
        while True:
            # A stream may end within a message (BFINAL, section 7.2.3.4). The next bytes are a
            # stream of their own; senders that do this begin it with an empty window.
            if self._decompressor.eof:
                self._decompressor = _new_decompressor()
            inflated = self._decompressor.decompress(data, _OUTPUT_STEP)
            if inflated:
                yield inflated
            data = self._decompressor.unconsumed_tail or self._decompressor.unused_data
            # A full step may leave output inside zlib although all input is consumed.
            if not data and len(inflated) < _OUTPUT_STEP:
                return


def _new_decompressor() -> zlib._Decompress:
    try:
        import zlib
    except ImportError:
        raise built_without("zlib", "compression of messages") from None
    # The full window can read the output of any smaller one.
    return zlib.decompressobj(wbits=-zlib.MAX_WBITS)
