"""``mcpclient help``: the chapters of the guide, commands, exit codes and exceptions."""

from __future__ import annotations

import argparse
import inspect
import re

from .. import errors
from ..errors import McpError, UsageError
from ..suggestions import there_are, there_is_no
from .command import Answer, LocalCommand, LocalWork
from .commands import COMMANDS, command_named
from .guide import CHAPTERS, chapter
from .guide.layout import laid_out
from .parsing import parser_of
from .screen import Screen


def _prepare(options: argparse.Namespace) -> LocalWork:
    text = _text_for(options.words)

    async def show(screen: Screen) -> Answer:
        columns = screen.style.columns
        return Answer({"text": text}, text if columns is None else laid_out(text, columns))

    return show


def _text_for(words: list[str]) -> str:
    if not words:
        return _contents()
    topic, *more = words
    if topic in COMMANDS and topic not in CHAPTERS and not more:
        return parser_of(command_named(topic)).format_help().rstrip()
    if topic not in CHAPTERS:
        unknown = there_is_no("chapter", topic, [*CHAPTERS, *COMMANDS])
        raise UsageError(f"{unknown}\n\n{_contents()}")
    if not more:
        return re.sub(r"^<!-- \w+ -->\n", "", chapter(topic), flags=re.M).rstrip()
    if topic != "errors" or len(more) > 1:
        raise UsageError(f"help {topic} takes no further word: {more[0]!r}")
    return _exit_code(more[0]) if more[0].isdecimal() else _exception(more[0])


def _contents() -> str:
    lines = [f"  {name:16}{about}" for name, about in CHAPTERS.items()]
    return "\n".join(["The chapters of the guide; mcpclient help CHAPTER shows one:", *lines])


def _exit_code(code: str) -> str:
    """Return the row of the table of exit codes."""
    rows = re.findall(r"^\| (\d+) \| (.*?) \|\s*(.*?)\s*\|$", chapter("errors"), re.M)
    for name, meaning, cure in rows:
        if name == code:
            return f"exit code {name}: {meaning}" + (f"\nThen: {cure}" if cure else "")
    known = there_are(name for name, _, _ in rows)
    raise UsageError(f"there is no exit code {code}; {known}")


def _exception(name: str) -> str:
    """Return what an exception is, and of which kind."""
    kinds = {
        each.__name__: each
        for each in vars(errors).values()
        if inspect.isclass(each) and issubclass(each, McpError)
    }
    if name not in kinds:
        raise UsageError(there_is_no("exception", name, kinds))
    kind = kinds[name]
    line = " > ".join(
        each.__name__ for each in reversed(kind.__mro__) if issubclass(each, McpError)
    )
    return f"{line}\n\n{inspect.getdoc(kind)}"


COMMAND = LocalCommand(
    "help",
    _prepare,
    usage="[CHAPTER | COMMAND | errors CODE | errors EXCEPTION]",
)
