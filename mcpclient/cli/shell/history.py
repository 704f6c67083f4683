"""The lines that a shell keeps: the history, without secrets, and lines saved under a name."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Sequence
from typing import Any, Callable

from ...errors import UsageError
from ...framing.logs import logger_for
from ...net.files import change_file, read_file
from ...recording.redaction import Redactor
from ...recording.secret_arguments import is_secret, masked, parameter_of
from ...suggestions import did_you_mean, there_are
from .words import Word, split_words

_logger = logger_for("mcpclient.shell")

_MAX_LINES = 1000
_MAX_HISTORY_BYTES = 4 * 1024 * 1024

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
            content = read_file(path, limit=_MAX_HISTORY_BYTES, private=True)
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
            change_file(self._path, _appended(line), limit=_MAX_HISTORY_BYTES, private=True)
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        _logger.warning("the history %s is not kept: %s", self._path, error)
        self._path = None


def _appended(line: str) -> Callable[[bytes | None], bytes]:
    def edit(content: bytes | None) -> bytes:
        lines = [*(content or b"").splitlines()[1 - _MAX_LINES :], line.encode("utf-8", "replace")]
        size = sum(map(len, lines)) + len(lines)
        while size > _MAX_HISTORY_BYTES and lines:
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


_MAX_SAVED_BYTES = 1024 * 1024


class SavedLines:
    """Lines by name.

    ``path``: the file that keeps them for other sessions, of mode 0600; None: they last as long as
    this shell, and without ``may_change`` so do new ones. A file that cannot be read or written is
    a warning in the log, and no more than that.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None = None, *, may_change: bool = True
    ) -> None:
        self._path = path
        self._lines: dict[str, str] = {}
        if path is not None:
            self._read(path)
        if not may_change:
            self._path = None

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __getitem__(self, name: str) -> str:
        return self._lines[name]

    def _read(self, path: str | os.PathLike[str]) -> None:
        try:
            self._lines = _lines_in(read_file(path, limit=_MAX_SAVED_BYTES, private=True))
        except FileNotFoundError:
            return
        except OSError as error:
            self._give_up(error)

    def take(self, line: str, *, has_secret: bool = False) -> str | None:
        """Run a line that begins with ``save`` or ``forget``; return None for other lines.

        Returns the answer to show. A line that may hold a secret is not written to the
        file. Raises `UsageError` when there is no name or nothing to save.
        """
        words = split_words(line, unfinished=True)
        if not words or words[0].typed not in ("save", "forget"):
            return None
        if words[0].typed == "forget":
            return self._forget(words)
        split_words(line)
        if len(words) < 3:
            raise UsageError("usage: save NAME COMMAND [WORD ...]")
        name, kept = words[1].text, line[words[2].start :].strip()
        self._lines[name] = kept
        if has_secret:
            self._keep(name, None)
            return "saved for this session only, since it may hold a secret" if self._path else ""
        self._keep(name, kept)
        return ""

    def _forget(self, words: Sequence[Word]) -> str:
        if len(words) != 2:
            raise UsageError("usage: forget NAME")
        self._find(words[1].text)
        del self._lines[words[1].text]
        self._keep(words[1].text, None)
        return ""

    def _keep(self, name: str, line: str | None) -> None:
        def edit(content: bytes | None) -> bytes:
            lines = {**_lines_in(content or b""), name: line}
            kept = {each: text for each, text in lines.items() if text is not None}
            return json.dumps(kept, indent=2).encode() + b"\n"

        if self._path is not None:
            try:
                change_file(self._path, edit, limit=_MAX_SAVED_BYTES, private=True)
            except OSError as error:
                self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        _logger.warning("the saved lines in %s are not kept: %s", self._path, error)
        self._path = None

    def expand(self, line: str) -> str:
        """Return the line that is meant by one that begins with ``run``; any other as it is.

        Raises `UsageError` for a name under which nothing is saved, and for a line that means
        itself.
        """
        seen: set[str] = set()
        while True:
            words = split_words(line, unfinished=True)
            if not words or words[0].typed != "run":
                return line
            if len(words) != 2:
                raise UsageError("usage: run NAME")
            line = self._find(words[1].text)
            if words[1].text in seen:
                raise UsageError(f"{words[1].text!r} runs itself")
            seen.add(words[1].text)

    def _find(self, name: str) -> str:
        if name in self._lines:
            return self._lines[name]
        hint = did_you_mean(name, self._lines) or there_are(self._lines)
        raise UsageError(f"nothing is saved as {name!r}; {hint}")


def _lines_in(content: bytes) -> dict[str, str]:
    try:
        lines = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(lines, dict):
        return {}
    return {name: line for name, line in lines.items() if isinstance(line, str)}
