"""What a command line may start: itself, and the commands inside it.

A command that is denied is denied wherever it stands: behind ``env``, ``sudo`` or a tool that
keeps secrets, and in the text for a shell. So every rest of a command line counts as a command of
its own, and so does every rest of a shell's text. That reads too much rather than too little, which
is why only a deny list looks at it this way.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence

from ...entries.resolve import base_name, is_shell
from .packages import Word, runners_in

# What a shell puts something else in the place of.
_SUBSTITUTION = re.compile(r"[$`*?{\[%^]")
# How often texts for a shell may stand inside each other before nobody can tell what is meant.
_MAX_DEPTH = 6
_MAX_LINE_LENGTH = 4096


def commands_inside(command: Sequence[str]) -> Iterator[tuple[Word, ...]]:
    """Yield every command that running ``command`` may start, itself first."""
    return _inside(tuple(command), 0)


def _inside(command: tuple[Word, ...], depth: int) -> Iterator[tuple[Word, ...]]:
    if depth > _MAX_DEPTH or len(command) > _MAX_LINE_LENGTH:
        yield (None,)
        return
    in_shell = False
    for index, word in enumerate(command):
        rest = command[index:]
        yield rest
        yield from _as_runner(rest)
        if word is None:
            continue
        if any(character.isspace() for character in word) and (index > 0 or depth > 0):
            for part in _shell_commands(word, in_shell):
                yield from _inside(part, depth + 1)
        in_shell = in_shell or is_shell(word)


def _as_runner(command: tuple[Word, ...]) -> Iterator[tuple[Word, ...]]:
    """Yield ``npx …`` for ``npm exec …``, and the like."""
    for name, position in runners_in(command):
        yield (name, *command[position:])


def _shell_commands(text: str, in_shell: bool) -> Iterator[tuple[Word, ...]]:
    """Yield the simple commands of a text, read as a shell does."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[Word] = []
    try:
        for token in lexer:
            if set(token) <= set("();<>|&\n"):
                if words:
                    yield tuple(words)
                words = []
            else:
                words.append(None if in_shell and _SUBSTITUTION.search(token) else token)
    except ValueError:
        words = [None] if in_shell else []
    if words:
        yield tuple(words)


def spellings(
    word: str, *, is_program: bool, links: Callable[[str], Sequence[str]]
) -> frozenset[str]:
    """Return everything that a deny list may call one element of a command, in lower case.

    A program is known by its path, its name, and what ``links`` says it is a link to; another
    element by itself, by the value of its flag, and without the version of a package.
    """
    if is_program:
        found = {word, *links(word)}
        return frozenset({each.casefold() for each in found} | {base_name(each) for each in found})
    values = {word, word.partition("=")[2] if word.startswith("-") else ""}
    if word.startswith("-") and not word.startswith("--"):
        values.add(word[2:])
    values |= {value.partition("npm:")[2] for value in values}
    for value in list(values):
        name, _, version = value.rpartition("@")
        values.add(name if version and "/" not in version else "")
        values.add(value[:1] + value[1:].partition("@")[0].rstrip())
        values.add(re.split(r"\[|[=<>~!]=|[<>]", value, maxsplit=1)[0])
    return frozenset(value.casefold() for value in values if value)
