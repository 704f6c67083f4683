"""Messages to JSON and back, and the memory they take; a bad message affects no other.

Outgoing JSON is what ``JSON.stringify`` would write: compact UTF-8. Incoming JSON is read as
leniently as `json` does (NaN and duplicate keys are accepted), and may begin with a BOM.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..errors import UsageError
from .messages import RequestId

MAX_MEMORY = 512 * 1024 * 1024
"""The most bytes a decoded message may take, unless its JSON is in proportion."""

# Bytes that CPython takes for an object with a member, for an array, and for a value in either.
_OBJECT, _ARRAY, _VALUE = 200, 60, 40
# The bytes per character of JSON from which the decoded values are out of proportion.
_MAX_PER_CHARACTER = 12
# Shorter JSON cannot take too much, whatever it holds.
_HARMLESS = MAX_MEMORY // ((_OBJECT + _VALUE) // 2)

# Commas and brackets in strings make no values. Strings are skipped where that is fast.
_STRING = r'(?s)"[^"\\]*(?:\\.[^"\\]*)*"'
_MAX_QUOTES = 1_000_000


def takes_too_much(text: str) -> bool:
    """Whether JSON takes far more memory once decoded: 60 MB of ``[],`` would take 1.5 GB."""
    if len(text) < _HARMLESS:
        return False
    allowed = max(MAX_MEMORY, len(text) * _MAX_PER_CHARACTER)
    if _estimated(text) <= allowed:
        return False
    return text.count('"') > _MAX_QUOTES or _estimated(re.sub(_STRING, '""', text)) > allowed


def _estimated(text: str) -> int:
    return text.count("{") * _OBJECT + text.count("[") * _ARRAY + text.count(",") * _VALUE


def parse_json(text: str | bytes | bytearray, otherwise: Any = None) -> Any:
    """Return the value of JSON; ``otherwise`` if it is none, or nested too deeply."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return otherwise


def is_deep(value: Any, most: int) -> bool:
    """Whether objects and arrays are nested more than ``most`` deep; never recurses."""
    level = [value]
    for _ in range(most):
        level = [
            member
            for parent in level
            if isinstance(parent, (dict, list))
            for member in (parent.values() if isinstance(parent, dict) else parent)
        ]
        if not level:
            return False
    return True


def weight_of(value: Any, most: float) -> int:
    """Return the approximate bytes a decoded value takes; counting stops beyond ``most``."""
    weight = 0
    pending = [value]
    while pending and weight <= most:
        part = pending.pop()
        if isinstance(part, (str, bytes)):
            weight += _VALUE + len(part)
        elif isinstance(part, Mapping):
            weight += _OBJECT
            pending += part
            pending += part.values()
        elif isinstance(part, (list, tuple)):
            weight += _ARRAY
            pending += part
        else:
            weight += _VALUE
            if not isinstance(part, (int, float, type(None))):  # containers take memory, too
                pending += [getattr(part, name, None) for name in ("raw", "args")]
    return weight


scan: Callable[[str, int], tuple[Any, int]] = vars(json.JSONDecoder())["scan_once"]
"""Decodes the JSON value at a place of a string, and returns it with its end."""
_WHITE_SPACE = " \t\r\n"


_encoded_string = json.encoder.encode_basestring


def _encoder(**options: Any) -> Callable[[Any, Any], Iterable[str]]:
    """Make an encoder once; `json.JSONEncoder` makes one for each value, a third of the time.

    Reference loops are not detected; they hit the recursion limit.
    """
    encoder = json.JSONEncoder(
        ensure_ascii=False, separators=(",", ":"), check_circular=False, **options
    )
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:  # this interpreter has no accelerator
        return encoder.iterencode
    encode_string, sorts, takes_nan = _encoded_string, encoder.sort_keys, encoder.allow_nan
    accelerated: Callable[[Any, Any], Iterable[str]] = make(
        None, encoder.default, encode_string, None, ":", ",", sorts, False, takes_nan
    )
    return accelerated


_encode = _encoder(allow_nan=False)


def json_encoder(*, sort_keys: bool = False) -> Callable[[Any], str]:
    """Return a function that encodes values as compact JSON, for a log of many lines."""
    encode = _encoder(sort_keys=sort_keys)
    return lambda value: "".join(encode(value, 0))


# Bytes from which a part of a message is written as it is, since a copy would take as many.
_LARGE = 1024 * 1024


VERBATIM_MEMBERS = ("params", "result", "error")
"""The members of a message that may be a `VerbatimObject`."""

# The members of a response: ``jsonrpc``, ``id`` and one of these; a request has its method as well.
_RESPONSE, _REQUEST = 3, 4

_OPENINGS = {name: f',"{name}":'.encode() for name in VERBATIM_MEMBERS}


class VerbatimObject(dict[str, Any]):
    """An object of a message that is passed on: its members, and the ``text`` it was read from.

    It is encoded as that text, which is a part of the line that it came in, and not a copy.
    """

    __slots__ = ("text",)

    def __init__(self, members: Mapping[str, Any], text: bytes | memoryview) -> None:
        super().__init__(members)
        self.text: bytes | memoryview = text


class MalformedMessage(ValueError):
    """Text that is not JSON. ``request_id`` names the request it seems to answer, if any."""

    def __init__(self, reason: str, request_id: RequestId | None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.request_id = request_id


def encode(message: Mapping[str, Any]) -> bytes:
    """Return the message as one line of UTF-8 JSON, without a line end.

    Raises `UsageError` for what JSON cannot carry: other types, NaN and infinities, reference
    loops, nesting beyond the interpreter's recursion limit, lone surrogates.
    """
    params = message.get("params")
    if type(params) is not dict:
        for name in VERBATIM_MEMBERS:
            if type(message.get(name)) is VerbatimObject:
                return b"".join(_pieces(message, name))
        return _encoded(message)
    meta = params.get("_meta")
    if type(meta) is not VerbatimObject:
        return _encoded(message)
    del params["_meta"]  # the last of the params, which are the last of the request
    try:
        line = _encoded(message)
    finally:
        params["_meta"] = meta
    opening = b'"_meta":' if line.endswith(b"{}}") else b',"_meta":'
    return b"".join((line[:-2], opening, meta.text, b"}}"))


def _encoded(message: Mapping[str, Any]) -> bytes:
    try:
        return "".join(_encode(message, 0)).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"{message.get('method', 'the answer')}: cannot be sent as JSON: {error}"
        ) from None


def encode_string(text: object) -> bytes:
    """Return a string as JSON; nothing for any other value, and for lone surrogates."""
    try:
        return _encoded_string(text).encode() if isinstance(text, str) else b""
    except UnicodeEncodeError:
        return b""


def finite(value: Any) -> Any:
    """Return a value with null for infinities and NaN, as ``JSON.stringify`` writes them.

    ``1e400`` is such a number too once it is decoded. Raises RecursionError for deep nesting.
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: finite(member) for name, member in value.items()}
    return [finite(member) for member in value] if isinstance(value, list) else value


def is_large(content: object) -> bool:
    """Whether this is the content of a message that `encode_line` does not copy."""
    return type(content) is VerbatimObject and len(content.text) >= _LARGE


def encode_line(message: Mapping[str, Any]) -> Sequence[bytes | memoryview]:
    """Return the message with a line end, in pieces where its text is large, and not copied.

    Raises what `encode` does.
    """
    for name in VERBATIM_MEMBERS:
        if is_large(message.get(name)):
            return [*_pieces(message, name), b"\n"]
    return [encode(message) + b"\n"]


def _pieces(message: Mapping[str, Any], name: str) -> list[bytes | memoryview]:
    request_id, method = message.get("id"), encode_string(message.get("method"))
    if type(request_id) is not int or len(message) != (_REQUEST if method else _RESPONSE):
        begun = _encoded({key: each for key, each in message.items() if key != name})[:-1]
    elif method:
        begun = b'{"jsonrpc":"2.0","id":%d,"method":%b' % (request_id, method)
    else:
        begun = b'{"jsonrpc":"2.0","id":%d' % request_id
    return [begun + _OPENINGS[name], message[name].text, b"}"]


def decode(text: bytes | str) -> Any:
    """Return the JSON value of ``text``.

    Raises `MalformedMessage` for anything else, and for values that take far too much memory.
    """
    try:
        string = str(text, "utf-8") if isinstance(text, bytes) else text
        if string.startswith("\ufeff"):
            string = string[1:]
        string = string.strip(_WHITE_SPACE)
        if takes_too_much(string):
            raise ValueError(f"its values would take over {MAX_MEMORY / (1 << 20):g} MiB of memory")
        value, end = scan(string, 0)
        if end < len(string):
            raise json.JSONDecodeError("Extra data", string, end)
        return value
    except (ValueError, RecursionError, StopIteration) as error:
        from .response_id import find_response_id

        raise MalformedMessage(_explain(error), find_response_id(text)) from None


def _explain(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 at byte {error.start}"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} at character {error.pos}"
    if isinstance(error, RecursionError):
        return "JSON nested too deeply"
    if isinstance(error, StopIteration):
        return f"not JSON: Expecting value at character {error.value}"
    return f"not representable: {error}"
