"""A line of the shell taken apart: its words, where the answer goes, and whether to wait for it.

Words are separated by spaces. Quotes and backslashes work as in other shells, and JSON needs none
of them: what stands in braces or brackets, or behind ``:=``, is taken as it is. Nothing is expanded
or substituted. ``#`` begins a comment where a word could begin. As words of their own, and not
quoted, these mean something: ``> FILE``, ``| PROGRAM WORD …``, and ``&`` at the end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import UsageError

_SPACES = " \t\r\n"
_PLAIN = re.compile(r"[^\s\"'\\#&|>\[{]+")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Word:
    """``text``: what it says. ``typed``: how it was typed, quotes included. ``start``: where."""

    text: str
    typed: str
    start: int

    @property
    def is_quoted(self) -> bool:
        """Whether it is a text for sure, whatever it looks like."""
        return self.typed[:1] in ("'", '"')


@dataclass(frozen=True)
class Line:
    """``words``: a command and its arguments; none for a blank line.

    ``file``: where the answer is written. ``program``: which program gets it, with its arguments.
    ``in_background``: the next line need not wait for it.
    """

    words: tuple[Word, ...] = ()
    file: str | None = None
    program: tuple[str, ...] = ()
    in_background: bool = False


def parse_line(text: str) -> Line:
    """Return what a line says. Raises `UsageError`."""
    words = split_words(text)
    in_background = bool(words) and words[-1].typed == "&"
    if in_background:
        words.pop()
    if any(word.typed == "&" for word in words):
        raise UsageError("& stands at the end of a line; quote it where it is meant as a text")
    end = next((index for index, word in enumerate(words) if _leads_on(word)), len(words))
    own, rest = tuple(words[:end]), words[end:]
    if (rest or in_background) and not own:
        raise UsageError("there is no command before " + (rest[0].typed if rest else "&"))
    if not rest:
        return Line(own, in_background=in_background)
    if rest[0].typed == "|":
        return Line(own, None, _program(rest[1:]), in_background)
    return Line(own, _file(rest), (), in_background)


def _leads_on(word: Word) -> bool:
    return word.typed == "|" or word.typed.startswith(">")


def _program(words: Sequence[Word]) -> tuple[str, ...]:
    if not words:
        raise UsageError("| needs a program that gets the answer")
    if any(_leads_on(word) for word in words):
        raise UsageError("the answer goes to one program; quote | and > where they are arguments")
    return tuple(word.text for word in words)


def _file(words: Sequence[Word]) -> str:
    names = [word.text for word in words]
    names[0] = names[0][1:]
    named = [name for name in names if name]
    if not named:
        raise UsageError("> needs the name of a file")
    if len(named) > 1:
        raise UsageError(f"> takes one file, and not {named[1]!r} too")
    return named[0]


def split_words(text: str, *, unfinished: bool = False) -> list[Word]:
    """Return the words of a text. Raises `UsageError` for a quote without an end.

    With ``unfinished`` such a quote reaches to the end, as while somebody is typing.
    """
    words = []
    position = _skip_spaces(text, 0)
    while position < len(text) and text[position] != "#":
        content, end = _take_word(text, position, unfinished)
        words.append(Word(content, text[position:end], position))
        position = _skip_spaces(text, end)
    return words


def _skip_spaces(text: str, position: int) -> int:
    while position < len(text) and text[position] in _SPACES:
        position += 1
    return position


def _take_word(text: str, start: int, unfinished: bool) -> tuple[str, int]:
    """Return what the word says that begins here, and where it ends."""
    pieces: list[str] = []
    position = start
    while position < len(text) and text[position] not in _SPACES:
        piece, position = _take_piece(text, start, position, unfinished)
        pieces.append(piece)
    return "".join(pieces), position


def _take_piece(text: str, start: int, position: int, unfinished: bool) -> tuple[str, int]:
    character = text[position]
    if character in "[{" or (character == '"' and text.endswith(":=", start, position)):
        end = _end_of_json(text, position)
        if end:
            return text[position:end], end
    if character in "\"'":
        return _take_quoted(text, position, unfinished)
    if character == "\\":
        return text[position + 1 : position + 2], min(position + 2, len(text))
    plain = _PLAIN.match(text, position)
    return (plain[0], plain.end()) if plain else (character, position + 1)


def _end_of_json(text: str, position: int) -> int:
    """Return where the JSON ends that begins here; 0 when it is none."""
    try:
        return _DECODER.raw_decode(text, position)[1]
    except (ValueError, RecursionError):
        return 0


def _take_quoted(text: str, position: int, unfinished: bool) -> tuple[str, int]:
    quote, content, index = text[position], [], position + 1
    while index < len(text) and text[index] != quote:
        if quote == '"' and text[index] == "\\" and text[index + 1 : index + 2] in ('"', "\\"):
            index += 1
        content.append(text[index])
        index += 1
    if index >= len(text) and not unfinished:
        raise UsageError(f"the quote {quote} at column {position + 1} is not closed")
    return "".join(content), min(index + 1, len(text))


def quoted(text: str, *, is_whole: bool = True) -> str:
    """Return a word that says this string, in quotes where it needs them.

    Without ``is_whole`` the quotes stay open, for the rest of the word.
    """
    words = split_words(text, unfinished=True)
    if len(words) == 1 and words[0] == Word(text, text, 0) and text[0] not in "&|>":
        return text
    end = '"' if is_whole else ""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + end
