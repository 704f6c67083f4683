"""permessage-deflate, the compression of WebSocket messages (RFC 7692), from the client's side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..lazy import OnDemand

if TYPE_CHECKING:
    import zlib
else:
    zlib = OnDemand("zlib")

OFFER = "permessage-deflate; client_max_window_bits"
"""The offer of a client: the server may choose every parameter."""

_NAME = "permessage-deflate"

# An empty stored block ends every flush; it is taken off the wire and put back (section 7.2.1).
_TAIL = b"\x00\x00\xff\xff"

_SMALLEST = 1024

# Compressed bytes are inflated in steps, so that neither a highly compressed piece (up to 1032
# times its size) nor a large one is ever held more than once.
_INPUT_STEP = 1 << 16
_OUTPUT_STEP = 1 << 20


class DeflateParameters(NamedTuple):
    """The agreed parameters; the defaults are those of RFC 7692 section 7.1."""

    server_no_context_takeover: bool = False
    client_no_context_takeover: bool = False
    server_max_window_bits: int = 15
    client_max_window_bits: int = 15


def parse_extension_answer(value: str) -> DeflateParameters:
    """Read the server's ``Sec-WebSocket-Extensions`` as an answer to `OFFER`.

    Raises ValueError, with a reason fit for a user, for an extension that was not offered, one
    that is named twice, and any parameter that is unknown, repeated or malformed.
    """
    extensions = [text.strip() for text in value.split(",") if text.strip()]
    if len(extensions) != 1:
        raise ValueError(f"the server answered {len(extensions)} extensions to the one offered")
    name, *parameters = (text.strip() for text in extensions[0].split(";"))
    if name != _NAME:
        raise ValueError(f"the server chose the extension {name!r}, which was not offered")
    found: dict[str, int] = {}
    for parameter in parameters:
        key, number = _parse_parameter(parameter)
        if key in found:
            raise ValueError(f"the server repeated the extension parameter {key!r}")
        found[key] = number
    return DeflateParameters(
        server_no_context_takeover="server_no_context_takeover" in found,
        client_no_context_takeover="client_no_context_takeover" in found,
        server_max_window_bits=found.get("server_max_window_bits", 15),
        client_max_window_bits=found.get("client_max_window_bits", 15),
    )


def _parse_parameter(parameter: str) -> tuple[str, int]:
    key, equals, value = (text.strip() for text in parameter.partition("="))
    if key in ("server_no_context_takeover", "client_no_context_takeover") and not equals:
        return key, 1
    if key in ("server_max_window_bits", "client_max_window_bits"):
        if len(value) > 2 and value[0] == value[-1] == '"':
            value = value[1:-1]
        if value in ("8", "9", "10", "11", "12", "13", "14", "15"):
            return key, int(value)
    raise ValueError(f"the server answered the extension parameter {parameter!r}")


class MessageDeflater:
    """Compresses the messages a client sends."""

    def __init__(self, parameters: DeflateParameters) -> None:
        self._window_bits = parameters.client_max_window_bits
        self._takeover = not parameters.client_no_context_takeover
        self._compressor: zlib._Compress | None = None

    def wants(self, size: int) -> bool:
        """Whether to compress a message of ``size`` bytes; RFC 7692 section 6 leaves it to us.

        No for small messages, whose compression costs more time than it saves, and where a window
        of 256 bytes was agreed on, which zlib can read but not write.
        """
        return size >= _SMALLEST and self._window_bits > 8

    def deflate(self, payload: bytes) -> bytes:
        """Return the compressed payload of one whole message, one for which `wants` says yes."""
        compressor = self._compressor
        if compressor is None:
            compressor = zlib.compressobj(wbits=-self._window_bits)
        compressed = compressor.compress(payload) + compressor.flush(zlib.Z_SYNC_FLUSH)
        self._compressor = compressor if self._takeover else None
        return compressed[: -len(_TAIL)]


class MessageInflater:
    """Decompresses the messages a server sends, piece by piece."""

    def __init__(self, parameters: DeflateParameters) -> None:
        self._takeover = not parameters.server_no_context_takeover
        self._decompressor = _new_decompressor()

    def inflate(self, payload: memoryview) -> Iterator[bytes]:
        """Inflate a piece of a message's payload, at most 1 MiB of output at a time.

        Raises zlib.error where the piece is not DEFLATE data.
        """
        for start in range(0, len(payload), _INPUT_STEP):
            yield from self._inflate_step(payload[start : start + _INPUT_STEP])

    def finish(self) -> Iterator[bytes]:
        """Yield the rest of the message, after its last piece; the next call begins a new one."""
        if not self._decompressor.eof:
            yield from self._inflate_step(_TAIL)
        if self._decompressor.eof or not self._takeover:
            self._decompressor = _new_decompressor()

    def _inflate_step(self, data: bytes | memoryview) -> Iterator[bytes]:
        while True:
            # A stream may end within a message (BFINAL, section 7.2.3.4). What follows is a
            # stream of its own; senders that do this begin it with an empty window.
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
    # The full window reads what any smaller one has written.
    return zlib.decompressobj(wbits=-zlib.MAX_WBITS)
