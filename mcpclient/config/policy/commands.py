"""The commands that a command line may start: its own, and those inside it.

A denied command is denied anywhere: after ``env``, ``sudo`` or a secrets manager, and in a shell
script. So every suffix of a command line counts as a command, and so does every suffix of a script.
This finds too many commands rather than too few, so only deny lists use it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import Optional

from ...entries.resolve import base_name, is_shell

Word = Optional[str]
"""One element of a command; None if a shell computes it."""

# The words that start a package runner, and the names that a rule may use for it. npx and uvx stand
# for every runner of the same registry.
_RUNNERS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("npx",): ("npx",),
    **{("npm", word): ("npx",) for word in ("exec", "x", "init", "create", "innit")},
    ("pnpx",): ("pnpx", "npx"),
    **{("pnpm", word): ("pnpx", "npx") for word in ("dlx", "create")},
    **{(name, word): ("npx",) for name in ("yarn", "yarnpkg") for word in ("dlx", "create")},
    ("bunx",): ("bunx", "npx"),
    **{("bun", word): ("bunx", "npx") for word in ("x", "create")},
    ("deno",): ("npx",),
    ("uvx",): ("uvx",),
    ("uv", "tool", "run"): ("uvx",),
    ("uv", "run"): ("uvx",),
    ("pipx", "run"): ("uvx",),
}
# Programs that also run files: they fetch a named package only with such a word.
_TELLTALES = {("deno",): "npm:", ("uv", "run"): "--with"}
_MAX_SUBCOMMAND_POSITION = 12

# Options without a value, after which the package still follows.
_FLAGS = frozenset(
    {
        *("--", "-y", "--yes", "-q", "--quiet", "-s", "--silent", "-A", "--allow-all"),
        *("--bun", "--offline", "--prefer-offline", "--isolated", "--no-cache"),
    }
)
_NAME = r"(?:@[a-z0-9~][\w.~-]*/)?[a-z0-9~_][\w.~-]*(?:\[[\w.,-]*\])?"
_TAG = r"@[\^~]?(?:[<>]=?|=)?v?(?:[a-z0-9][\w.+-]*|\*)"
_RANGE = r"(?:[=<>~!]=|===|[<>])[\w.+!*-]+"
_PACKAGE = re.compile(f"{_NAME}(?:{_TAG}|{_RANGE}(?:,{_RANGE})*)?", re.ASCII | re.IGNORECASE)
# Words that such a program takes for a file, in any position.
_FILE = re.compile(r"\.(?:tgz|tar(?:\.\w+)?|t[bgx]z2?|zip|whl|egg|py|pyz|git)$", re.IGNORECASE)


def runners_in(command: Sequence[Word]) -> Iterator[tuple[str, int]]:
    """Yield the names of the package runner that a command starts, and where its arguments begin.

    Yields nothing for other programs. Options may come between the words of a subcommand.
    """
    program = base_name(command[0] or "") if command else ""
    for words, names in _RUNNERS.items():
        if program != words[0]:
            continue
        position = 0
        for subcommand in words[1:]:
            found = command[position + 1 : _MAX_SUBCOMMAND_POSITION]
            if subcommand not in found:
                break
            position += 1 + found.index(subcommand)
        else:
            telltale = _TELLTALES.get(words)
            if telltale is None or any(word and telltale in word for word in command):
                yield from ((name, position + 1) for name in names)


def package_words(elements: Sequence[str]) -> range:
    """Return the indexes of a rule's elements in which a wildcard stands for a package.

    They begin after the name of the program and end with the package; the package's own arguments
    follow, unless the elements hold an unknown option or ``**``.
    """
    for start in range(len(elements)):
        runner = next(runners_in(elements[start:]), None)
        if runner is not None:
            return range(start + 1, _end_of_package(elements, start, start + runner[1]))
    return range(0)


def _end_of_package(elements: Sequence[str], start: int, position: int) -> int:
    # What follows the package goes to npm itself, unless "--" stands before.
    is_ended = base_name(elements[start]) != "npm"
    for index, element in enumerate(elements[position:], position):
        is_ended = is_ended or element == "--"
        if element not in _FLAGS:
            is_package = is_ended and element[:1] != "-" and element != "**"
            return index + 1 if is_package else len(elements)
    return len(elements)


def names_package(pattern: str, word: str) -> bool:
    """Return whether a word names a package (a name, a version or a tag) that a pattern matches."""
    if pattern.startswith("-"):
        option, equals, pattern = pattern.partition("=")
        if "*" in option or not word.startswith(option + equals):
            return False
        word = word[len(option + equals) :]
    for registry in ("npm:", "jsr:"):
        if pattern.startswith(registry) and word.startswith(registry):
            pattern, word = pattern[len(registry) :], word[len(registry) :]
    if pattern not in ("*", "**") and pattern.count("/") != word.count("/"):
        return False
    return word[:1] != "-" and bool(_PACKAGE.fullmatch(word)) and not _FILE.search(word)


# Characters that a shell replaces with something else.
_SUBSTITUTION = re.compile(r"[$`*?{\[%^]")
# The greatest depth of nested shell scripts; deeper ones count as unknown.
_MAX_DEPTH = 6
_MAX_LINE_LENGTH = 4096


def commands_inside(command: Sequence[Word], depth: int = 0) -> Iterator[tuple[Word, ...]]:
    """Yield every command that ``command`` may start, itself first.

    ``depth``: of the script for a shell in which it stands.
    """
    if depth > _MAX_DEPTH or len(command) > _MAX_LINE_LENGTH:
        yield (None,)
        return
    in_shell = False
    for index, word in enumerate(command):
        rest = tuple(command[index:])
        yield rest
        for name, position in runners_in(rest):  # npx … for npm exec …, and the like
            yield (name, *rest[position:])
        if word is None:
            continue
        if any(character.isspace() for character in word) and (index > 0 or depth > 0):
            for part in _shell_commands(word, in_shell):
                yield from commands_inside(part, depth + 1)
        in_shell = in_shell or is_shell(word)


def _shell_commands(text: str, in_shell: bool) -> Iterator[tuple[Word, ...]]:
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
    """Return every spelling by which a deny list may name an element of a command, in lower case.

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
