"""Completion of a typed line by the state of a session, without asking a server."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...client.events.callbacks import LOG_LEVELS
from ...errors import UsageError
from ...framing.escaping import escape_line
from ..arguments import alternatives, named_values, properties_of, required_of
from .words import Word, follow_path, names_in, parse_path, quoted, split_words

if TYPE_CHECKING:
    from .session import Session

_MAX_FILES = 200


class Candidate(NamedTuple):
    """A word that fits at the cursor.

    ``text`` replaces the whole word, quotes included. With ``is_whole`` the next word may follow;
    otherwise there is more to type.
    """

    text: str
    is_whole: bool = True


class Typing(NamedTuple):
    """The position of the cursor. ``words``: those before it; ``word``: the current one so far.

    ``start``: where that word begins in the line.
    """

    words: Sequence[Word]
    word: str
    start: int


def typing_at(line: str, cursor: int) -> Typing:
    """Return the words before the cursor; those after it do not count."""
    before = line[:cursor]
    words = split_words(before, unfinished=True)
    if words and words[-1].start + len(words[-1].typed) == len(before):
        return Typing(words[:-1], words[-1].text, words[-1].start)
    return Typing(words, "", len(before))


def candidates(typing: Typing, session: Session, commands: Iterable[str]) -> list[Candidate]:
    """Return the words that fit at the cursor, in the order to show them."""
    typed = [word.typed for word in typing.words]
    if ">" in typed[-1:] or typing.word.startswith(">"):
        name = typing.word.lstrip(">")
        mark = typing.word[: len(typing.word) - len(name)]
        found = fitting(_files(name, ""), name)
        return [each._replace(text=mark + each.text) for each in found]
    if not typed:
        return fitting(_first_words(typing.word, session, commands), typing.word)
    texts = [word.text for word in typing.words]
    return fitting(_later_words(texts, typing.word, session, commands), typing.word)


def fitting(found: Iterable[Candidate], word: str) -> list[Candidate]:
    """Return the candidates that begin with the word, each once; servers choose most of them."""
    chosen = {each.text: each.is_whole for each in found if each.text.startswith(word)}
    return [
        Candidate(quoted(escape_line(text), is_whole=is_whole), is_whole)
        for text, is_whole in chosen.items()
    ]


def _first_words(word: str, session: Session, commands: Iterable[str]) -> Iterator[Candidate]:
    if word.startswith("_"):
        yield from _path_steps(word, session.result)
    yield from map(Candidate, session.tools_of(session.server))
    for server in session.manager.servers:
        if word.startswith(f"{server}."):
            yield from (Candidate(f"{server}.{name}") for name in session.tools_of(server))
        else:
            yield Candidate(f"{server}.", is_whole=False)
    yield from map(Candidate, commands)


def _later_words(
    words: Sequence[str], word: str, session: Session, commands: Iterable[str]
) -> Iterable[Candidate]:
    command, *given = words
    if not given and command in _CHOOSERS:
        return map(Candidate, _CHOOSERS[command](session))
    if not given and command == "help":
        return map(Candidate, commands)
    if command == "prompt":
        return _prompt_arguments(given, word, session)
    name, *given = given if command == "call" and given else words
    tool = session.known_tool(name)
    return argument_candidates(tool.input_schema, given, word) if tool is not None else ()


# Arguments of tools and prompts


def argument_candidates(schema: Any, given: Sequence[str], word: str) -> Iterator[Candidate]:
    """Yield the names and values that fit behind the given arguments of a tool."""
    if word.startswith("@"):
        yield from _files(word[1:], "@")
        return
    properties = properties_of(schema)
    name, separator, value = word.partition("=")
    if not separator:
        needed = required_of(schema)
        yield from _names(sorted(properties, key=lambda name: name not in needed), given)
    elif value.startswith("@"):
        yield from _files(value[1:], f"{name}=@")
    else:
        for each in _values_in(properties.get(name.rstrip(":"))):
            is_text = isinstance(each, str) and not name.endswith(":")
            yield Candidate(f"{name}={each if is_text else json.dumps(each)}")


def _names(known: Iterable[str], given: Sequence[str]) -> Iterator[Candidate]:
    taken = {each.partition("=")[0].rstrip(":") for each in given}
    yield from (Candidate(f"{each}=", is_whole=False) for each in known if each not in taken)


def _values_in(schema: Any) -> Iterator[Any]:
    for each in alternatives(schema, schema):
        yield from named_values(each)
        kinds = each.get("type")
        if "boolean" in (kinds if isinstance(kinds, list) else [kinds]):
            yield from (True, False)
        items = each.get("items")
        yield from (
            [value] for value in (named_values(items) if isinstance(items, Mapping) else ())
        )
        if "default" in each:
            yield each["default"]


def _prompt_arguments(given: Sequence[str], word: str, session: Session) -> Iterable[Candidate]:
    prompt = session.prompts.get(session.server, {}).get(given[0])
    if prompt is None or "=" in word:  # only the server knows the values
        return ()
    return _names([each.name for each in prompt.arguments], given[1:])


# Other words


def _files(beginning: str, before: str) -> Iterator[Candidate]:
    pattern = glob.escape(os.path.expanduser(beginning)) + "*"
    for path in sorted(glob.iglob(pattern))[:_MAX_FILES]:
        is_folder = os.path.isdir(path)
        yield Candidate(before + path + (os.sep if is_folder else ""), not is_folder)


def _path_steps(word: str, result: Any) -> Iterator[Candidate]:
    before, dot, _ = word.rpartition(".")
    if result is None:
        return
    if not dot:
        yield Candidate("_", is_whole=False)
        return
    try:
        names = names_in(follow_path(result, parse_path(before)))
    except UsageError:
        return
    yield from (Candidate(f"{before}.{name}", is_whole=False) for name in names)


# The words that may follow each command.
_CHOOSERS: Mapping[str, Callable[[Session], Iterable[str]]] = {
    **dict.fromkeys(("call", "tool", "tools"), lambda session: session.tools_of(session.server)),
    "prompt": lambda session: session.prompts.get(session.server, ()),
    "read": lambda session: session.resources.get(session.server, ()),
    "use": lambda session: session.manager.servers,
    **dict.fromkeys(
        ("cancel", "wait"), lambda session: [str(job.number) for job in session.jobs.running]
    ),
    "log": lambda session: (*LOG_LEVELS, "off"),
    "expect": lambda session: (*names_in(session.result), "not"),
}
