"""``mcpclient help`` and ``mcpclient completion``: what the command line says about itself.

The chapters of the guide are Markdown files in ``guide/``. They are package data, so that a zip
archive or a vendored copy has them as well, and the tests run their examples.

So are the scripts for shells, in ``completion/``. These run ``mcpclient __complete SHELL LINE``,
which completes commands, options and servers, and the tools, arguments and values of servers whose
tools were listed in this folder.
"""

from __future__ import annotations

import argparse
import inspect
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pkgutil import get_data

from ..errors import McpError, UsageError, kind_named
from ..errors import __all__ as EXCEPTIONS
from ..framing.escaping import escape_line
from ..suggestions import there_are, there_is_no
from .command import Answer, AnyCommand, LocalCommand
from .commands import COMMANDS, command_named
from .layout import definitions, fill
from .parsing import help_text, parser_of
from .screen import Screen
from .shell.words import argument_candidates, typing_at

CHAPTERS = {
    "ten-minutes": "from nothing to an agent over two servers, step by step",
    "options": "every option of connect, with its type and default",
    "authentication": "tokens, logins, secrets, and what to do about a refusal",
    "servers": "many servers: configuration files, the manager, approval, names",
    "models": "tools for language models: five APIs, an agent loop, limits, sampling",
    "code": "code mode: a model writes Python that calls the tools, in a sandbox",
    "bridge": "any server, for hosts that speak only stdio",
    "bundles": "servers in bundles (.mcpb), and server.json of a registry",
    "stubs": "typed Python for the tools of a server",
    "blocking": "programs without asyncio: scripts, notebooks, web frameworks, threads",
    "testing": "tests of your own server: in memory, cassettes, snapshots",
    "subscriptions": "changes on a server; tasks, skills, caching, output schemas",
    "transports": "ways to reach a server; TLS, proxies; a transport of your own",
    "recording": "recording a session, and replaying it without the server",
    "security": "the harm that a server could do, and how it is prevented",
    "performance": "costs, and every limit with its default",
    "coming-from": "for users of the official SDK (mcp) or fastmcp",
    "vendoring": "copies of this package, or of parts of it, in another project",
    "stability": "the public API, and the changes that a release may make",
    "errors": "exceptions and exit codes; `help errors CODE` or `NAME` explains one",
}
"""The names of the chapters, in the order of reading, each with its subject."""


_MAX_WIDTH = 96
_LINK = re.compile(r"\[([^]]+)\]\(([\w-]+)\.md\)")
_ITEM = re.compile(r"(?:- |\d+\. )")
_ITEM_BEGINS = re.compile(rf"\n(?={_ITEM.pattern})")
_CELL = re.compile(r"(?<!\\)\|")


@LocalCommand("help", usage="[CHAPTER | COMMAND | errors CODE | errors EXCEPTION]")
def _help(screen: Screen, options: argparse.Namespace) -> Answer:
    columns = screen.style.columns
    text = _text_for(options.words, columns)
    if columns is not None and options.words and options.words[0] in CHAPTERS:
        return Answer({"text": text}, laid_out(text, columns), is_code=True)
    return Answer({"text": text}, text)


def _text_for(words: list[str], columns: int | None) -> str:
    if not words:
        return _contents()
    topic, *more = words
    if topic in COMMANDS and topic not in CHAPTERS and not more:
        return help_text(parser_of(command_named(topic)), columns)
    if topic not in CHAPTERS:
        unknown = there_is_no("chapter", topic, [*CHAPTERS, *COMMANDS])
        raise UsageError(unknown).advise("See all chapters with: mcpclient help")
    if not more:
        text = _LINK.sub(r"\1 (mcpclient help \2)", chapter(topic))
        return re.sub(r"^<!-- \w+ -->\n", "", text, flags=re.M).rstrip()
    if topic != "errors" or len(more) > 1:
        raise UsageError(f"help {topic} takes no further word: {more[0]!r}")
    return _exit_code(more[0]) if more[0].isdecimal() else _exception(more[0])


def _contents() -> str:
    lines = [f"  {name:16}{about}" for name, about in CHAPTERS.items()]
    return "\n".join(["The chapters of the guide; mcpclient help CHAPTER shows one:", *lines])


def _exit_code(code: str) -> str:
    rows = re.findall(r"^\| (\d+) \| (.*?) \|\s*(.*?)\s*\|$", chapter("errors"), re.M)
    for name, meaning, cure in rows:
        if name == code:
            return f"exit code {name}: {meaning}" + (f"\nThen: {cure}" if cure else "")
    known = there_are(name for name, _, _ in rows)
    raise UsageError(f"there is no exit code {code}; {known}")


def _exception(name: str) -> str:
    kind = kind_named(name)
    if kind is None:
        raise UsageError(there_is_no("exception", name, EXCEPTIONS))
    line = " > ".join(
        each.__name__ for each in reversed(kind.__mro__) if issubclass(each, McpError)
    )
    return f"{line}\n\n{inspect.getdoc(kind)}"


def chapter(name: str) -> str:
    """Return the text of a chapter, in Markdown."""
    return _data(f"guide/{name}.md")


def _data(path: str) -> str:
    """Return the text of a file beside this module."""
    text = get_data(__name__, path)
    assert text is not None, "every loader of files and archives has data"
    return text.decode()


def laid_out(text: str, columns: int) -> str:
    """Return Markdown for a terminal. No line of prose is wider than ``columns``; code stays as is.

    A row of a table becomes its first cell with the others beside it.
    """
    width = min(columns - 1, _MAX_WIDTH)
    lines: list[str] = []
    for kind, group in groupby(_with_kinds(text.splitlines()), key=lambda pair: pair[0]):
        part = [line for _, line in group]
        if kind == "prose":
            lines += _paragraphs(part, width)
        elif kind == "table":
            lines += _list_of(part, width)
        else:
            lines += part
    return "\n".join(lines)


def _with_kinds(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    is_code = False
    for line in lines:
        if line.startswith("```"):
            is_code = not is_code
            yield "code", line
        elif is_code or line.startswith("    "):
            yield "code", line
        elif line.startswith("|"):
            yield "table", line
        elif not line or line.startswith("#"):
            yield "alone", line
        else:
            yield "prose", line


def _paragraphs(lines: Sequence[str], width: int) -> list[str]:
    """Fill paragraphs; an item of a list begins a line of its own."""
    joined = [" ".join(each.split()) for each in _ITEM_BEGINS.split("\n".join(lines))]
    return fill("\n".join(joined), width).split("\n")


def _list_of(rows: Sequence[str], width: int) -> list[str]:
    cells = [[cell.strip() for cell in _CELL.split(row.strip("|"))] for row in rows]
    entries = cells[2:]  # after the header and a line of dashes
    said = ((first, ". ".join(filter(None, others))) for first, *others in entries)
    return definitions(
        ((name, text.replace("\\|", "|")) for name, text in said), width
    ).splitlines()


_SHELLS = ("bash", "zsh", "fish")
_TOPICS = {
    "audit": ("verify", "show"),
    "auth": ("login", "finish", "logout", "status"),
    "completion": _SHELLS,
}


def complete(arguments: Sequence[str]) -> str:
    """Return the completions at the end of a command line, one per line.

    ``arguments``: the name of the shell, and the line up to the cursor. There are none on any
    error: the user is still typing.
    """
    try:
        shell, line = arguments
        typing = typing_at(line, len(line))
        found = dict.fromkeys(_candidates([word.text for word in typing.words[1:]], typing.word))
    except (McpError, ValueError):
        return ""
    # Bash replaces only the text after the last of these characters.
    skipped = max(typing.word.rfind(each) + 1 for each in "=:") if shell == "bash" else 0
    fitting = (each for each in found if each.startswith(typing.word))
    return "".join(f"{escape_line(each)[skipped:]}\n" for each in fitting)


def _candidates(words: Sequence[str], word: str) -> Iterable[str]:
    if not words:
        return COMMANDS
    if words[0] not in COMMANDS or "--" in words:
        return ()
    command = command_named(words[0])
    parser = parser_of(command)
    for action in parser._actions:
        if words[-1] in action.option_strings and action.choices is not None:
            return action.choices
    if word.startswith("-"):
        return [option for action in parser._actions for option in action.option_strings]
    options, others = parser.parse_known_args([*words[1:]])
    found = _words_of(command, options, [*getattr(options, "words", ()), *others], word)
    # Names come from files and servers, and none of them may be taken for an option.
    return (each for each in found if not each.startswith("-"))


def _words_of(
    command: AnyCommand, options: argparse.Namespace, words: Sequence[str], word: str
) -> Iterator[str]:
    """Yield the words that may follow these positional words of a command."""
    if not words:
        yield from _TOPICS.get(command.name, ())
        if command.name == "help":
            yield from (*CHAPTERS, *COMMANDS)
        if command.takes_server or command.name in ("remove", "lock", "approve"):
            from ..sessions.sockets import session_names
            from .configured import load

            yield from (f"@{name}" for name in session_names(os.environ))
            yield from load(options.config).servers
        return
    if command.name not in ("call", "tools"):
        return
    options.named = [words[0]]
    from .features import remembered_tools

    known = {tool.name: tool for tool in remembered_tools(options)}
    if len(words) == 1:
        yield from known
    elif command.name == "call" and words[1] in known:
        schema = known[words[1]].input_schema
        found = argument_candidates(schema, words[2:], word)
        yield from (each[:-1] if each.endswith(" ") else each for each in found)


@LocalCommand(
    "completion",
    usage="[OPTION ...] bash | zsh | fish",
    details='In ~/.bashrc or ~/.zshrc: eval "$(mcpclient completion bash)", or zsh. For fish: '
    "mcpclient completion fish > ~/.config/fish/completions/mcpclient.fish",
)
def _completion(screen: Screen, options: argparse.Namespace) -> Answer:
    words: list[str] = options.words
    if len(words) != 1 or words[0] not in _SHELLS:
        raise UsageError("completion is for one of: bash, zsh, fish")
    script = _data(f"completion/mcpclient.{words[0]}")
    return Answer({"script": script}, script.rstrip("\n"), is_code=True)
