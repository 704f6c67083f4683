"""What was typed, kept for the next time, without the values of parameters that are secret.

A parameter is secret when its name says so (as `recording.secrets` knows them), or its schema
does, where references lead and in its branches too: ``format: password``, ``writeOnly``. Secrets
that show by their form, such as the tokens of well-known services and passwords in URLs, are
replaced as in transcripts.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Sequence
from typing import Any, Callable

from ...framing.logs import logger_for
from ...net.files import change_file, read_file
from ...recording.redaction import Redactor
from ...recording.secret_arguments import is_secret, masked, parameter_of
from .words import Word, split_words

_logger = logger_for("mcpclient.shell")

_MAX_LINES = 1000
_MAX_BYTES = 4 * 1024 * 1024

SchemaOf = Callable[[Sequence[Word]], Any]
"""Returns the input schema of the tool that the words of a line call, None when there is none."""


class History:
    """The lines of this and of earlier sessions, oldest first.

    ``path``: the file that keeps them, of mode 0600; None: they are kept for this session only. A
    file that cannot be read or written is a warning in the log, once, and no more than that.
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._path = path
        self.lines: list[str] = []
        if path is not None:
            self._read(path)

    def _read(self, path: str | os.PathLike[str]) -> None:
        try:
            content = read_file(path, limit=_MAX_BYTES, private=True)
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno != errno.EFBIG:  # of an earlier version; the next line replaces it
                self._give_up(error)
        else:
            self.lines = content.decode("utf-8", "replace").splitlines()

    def add(self, line: str, *, is_kept: bool = True) -> None:
        """Keep a line that has no secrets; one that repeats the last is not kept again.

        Without ``is_kept`` it can be recalled in this session, and is not written to the file.
        """
        line = " ".join(line.splitlines())
        if not line.strip() or self.lines[-1:] == [line]:
            return
        self.lines.append(line)
        if self._path is None or not is_kept:
            return
        try:
            change_file(self._path, _appended(line), limit=_MAX_BYTES, private=True)
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        _logger.warning("the history %s is not kept: %s", self._path, error)
        self._path = None


def _appended(line: str) -> Callable[[bytes | None], bytes]:
    def edit(content: bytes | None) -> bytes:
        lines = [*(content or b"").splitlines()[1 - _MAX_LINES :], line.encode("utf-8", "replace")]
        size = sum(map(len, lines)) + len(lines)
        while size > _MAX_BYTES and lines:
            size -= len(lines.pop(0)) + 1
        return b"".join(each + b"\n" for each in lines)

    return edit


def without_secrets(line: str, schema_of: SchemaOf) -> str:
    """Return a line with empty values where secrets were."""
    words = split_words(line, unfinished=True)
    schema = schema_of(words)
    redact = Redactor().text
    pieces, end = [], 0
    for word in words:
        emptied = _without_secret(word, schema)
        if emptied is not None:
            pieces += [redact(line[end : word.start]), emptied]
            end = word.start + len(word.typed)
    pieces.append(redact(line[end:]))
    return "".join(pieces)


def _without_secret(word: Word, schema: Any) -> str | None:
    """Return a word of which nothing but its form could be a secret; None for any other."""
    if word.text.startswith("{"):
        return _emptied_json(word.text, schema, schema)
    name, separator, value = word.text.partition("=")
    name = name.rstrip(":")
    if not separator:
        return None
    parameter = parameter_of(schema, name, schema)
    if is_secret(name, parameter, schema):
        is_file = value.startswith("@")
        return word.typed if is_file else word.text[: len(word.text) - len(value)]
    emptied = _emptied_json(value, parameter, schema)
    return None if emptied is None else f"{word.text[: -len(value)]}{emptied}"


def _emptied_json(text: str, schema: Any, root: Any) -> str | None:
    """Return JSON without its secrets, None when it is none or has none."""
    if text[:1] not in ("{", "["):
        return None
    try:
        value = json.loads(text)
        emptied = masked(value, schema, root, lambda secret: "")
        return None if emptied == value else json.dumps(emptied, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
