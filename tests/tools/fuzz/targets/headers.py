"""Header fields: parsed or refused, and written fields read back."""

from __future__ import annotations

from mcpclient.errors import ProtocolViolation, UsageError
from mcpclient.framing.headers import MAX_FIELDS, encode_header, parse_fields


def target(data: bytes) -> None:
    text = data.decode("latin-1") + "\n"
    try:
        headers = parse_fields(text)
    except ProtocolViolation:
        return
    repr(headers)
    fields = [(name, value) for name in headers for value in headers.get_all(name)]
    assert len(fields) <= MAX_FIELDS
    assert len(fields) == text.count("\n") - text.count("\n ") - text.count("\n\t")
    try:
        written = b"".join([encode_header(name, value) for name, value in fields])
    except UsageError:  # a control character, which is read and never written
        return
    assert parse_fields(written.decode("latin-1")) == headers
