"""A transcript without its secrets: a string in the first line, a message in the second one."""

from __future__ import annotations

from collections.abc import Iterator

from mcpclient.recording.redaction import Redactor

from ..inputs import json_lines_of, lines_of

SECRET = "hunter2-hunter2"


def target(data: bytes) -> None:
    text, message = lines_of(data, 2)[0], json_lines_of(data, 2)[1]
    redactor = Redactor()
    redactor.message({"password": SECRET})
    assert SECRET not in redactor.text(text)
    redactor.url(text)
    redactor.form(text)
    redactor.headers([("Set-Cookie", text), ("Authorization", text), ("X-Thing", text)], sent=True)
    redacted = redactor.message(message)
    assert type(redacted) is type(message)
    for text in strings_in(redacted):
        assert SECRET not in text


def strings_in(value: object) -> Iterator[str]:
    """Yield every string; the names of members stay as they are."""
    if isinstance(value, str):
        yield value
    for member in value.values() if isinstance(value, dict) else ():
        yield from strings_in(member)
    for item in value if isinstance(value, list) else ():
        yield from strings_in(item)
