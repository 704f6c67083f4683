"""Completion of a typed line: pure functions of the known tools, prompts and resources."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import starmap
from typing import Any

from ...client.events.callbacks import LOG_LEVELS
from ...errors import UsageError
from ...framing.escaping import escape_line
from ...protocol.types import Prompt, Tool
from ..arguments import properties_of, required_of
from ..configured import split_name
from .words import Word, follow_path, names_in, parse_path, quoted, split_words

_MAX_FILES = 200


@dataclass(frozen=True)
class Candidate:
    """A word that fits at the cursor.

    ``text`` replaces the whole word, quotes included. With ``is_whole`` the next word may follow;
    otherwise there is more to type.
    """

    text: str
    description: str = ""
    is_whole: bool = True


@dataclass(frozen=True)
class Known:
    """The source of candidates. ``tools``: of the server in use; ``others``: of each server.

    ``prompts`` and ``resources``: those of the server in use, as far as they have been listed.
    ``jobs``: numbers of calls in the background.
    """

    commands: Mapping[str, str] = field(default_factory=dict)
    tools: Mapping[str, Tool] = field(default_factory=dict)
    others: Mapping[str, Mapping[str, Tool]] = field(default_factory=dict)
    prompts: Mapping[str, Prompt] = field(default_factory=dict)
    resources: Mapping[str, str] = field(default_factory=dict)
    jobs: Sequence[str] = ()
    result: Any = None

    def tool(self, name: str) -> Tool | None:
        """Return the tool that a word names, with or without its server."""
        found = self.tools.get(name)
        if found is not None:
            return found
        server, tool = split_name(name, self.others)
        return self.others[server].get(tool) if server else None


@dataclass(frozen=True)
class Typing:
    """The position of the cursor. ``words``: those before it; ``word``: the current one so far.

    ``start``: where that word begins in the line.
    """

    words: tuple[Word, ...]
    word: str
    start: int


def typing_at(line: str, cursor: int) -> Typing:
    """Return the words before the cursor; those after it do not count."""
    before = line[:cursor]
    words = split_words(before, unfinished=True)
    if words and words[-1].start + len(words[-1].typed) == len(before):
        return Typing(tuple(words[:-1]), words[-1].text, words[-1].start)
    return Typing(tuple(words), "", len(before))


def candidates(typing: Typing, known: Known, suggested: Iterable[str] = ()) -> list[Candidate]:
    """Return the words that fit at the cursor, in the order to show them.

    ``suggested``: words that the server proposes for the argument of a prompt.
    """
    if suggested:
        return _fitting(map(Candidate, suggested), typing.word.partition("=")[0] + "=")
    texts = [word.text for word in typing.words]
    typed = [word.typed for word in typing.words]
    if ">" in typed[-1:] or typing.word.startswith(">"):
        name = typing.word.lstrip(">")
        mark = typing.word[: len(typing.word) - len(name)]
        return [replace(each, text=mark + each.text) for each in _fitting(_files(name, ""), name)]
    if "|" in typed:
        return []
    if not texts:
        return _fitting(_first_words(typing.word, known), typing.word)
    return _fitting(_later_words(texts, typing.word, known), typing.word)


def _fitting(found: Iterable[Candidate], word: str) -> list[Candidate]:
    """Return the candidates that begin with the word, each once; servers choose most of them."""
    fitting = {each.text: each for each in found if each.text.startswith(word)}
    return [
        Candidate(
            quoted(escape_line(each.text), is_whole=each.is_whole),
            escape_line(each.description),
            each.is_whole,
        )
        for each in fitting.values()
    ]


def _first_words(word: str, known: Known) -> Iterator[Candidate]:
    if word.startswith("_"):
        yield from _path_steps(word, known.result)
    yield from starmap(Candidate, _abouts(known.tools).items())
    for server, tools in known.others.items():
        if word.startswith(f"{server}."):
            for name, about in _abouts(tools).items():
                yield Candidate(f"{server}.{name}", about)
        else:
            yield Candidate(f"{server}.", "a tool of this server", is_whole=False)
    yield from starmap(Candidate, known.commands.items())


def _abouts(items: Mapping[str, Tool] | Mapping[str, Prompt]) -> dict[str, str]:
    return {
        name: " ".join((item.description or item.title or "").split())
        for name, item in items.items()
    }


def _later_words(words: Sequence[str], word: str, known: Known) -> Iterable[Candidate]:
    command = words[0]
    chooser = _CHOOSERS.get(command)
    if chooser is not None and len(words) == 1:
        chosen = chooser(known)
        return starmap(Candidate, chosen.items() if isinstance(chosen, Mapping) else zip(chosen))
    if command == "prompt":
        return _prompt_arguments(words[1], words[2:], word, known)
    tool = known.tool(words[1] if command == "call" and len(words) > 1 else command)
    return argument_candidates(tool.input_schema, words[1:], word) if tool is not None else ()


# Arguments of tools and prompts


def argument_candidates(schema: Any, given: Sequence[str], word: str) -> Iterator[Candidate]:
    """Yield the names and values that fit behind the given arguments of a tool."""
    if word.startswith("@"):
        yield from _files(word[1:], "@")
        return
    properties = properties_of(schema)
    name, separator, value = word.partition("=")
    if separator:
        yield from _values(properties.get(name.rstrip(":")), f"{name}=", value)
        return
    taken = {each.partition("=")[0].rstrip(":") for each in given}
    needed = required_of(schema)
    for each in sorted(properties, key=lambda name: name not in needed):
        if each not in taken:
            about = properties[each].get("description")
            about = " ".join(about.split()) if isinstance(about, str) else ""
            yield Candidate(f"{each}=", about, is_whole=False)


def _values(schema: Any, before: str, value: str) -> Iterator[Candidate]:
    if value.startswith("@"):
        yield from _files(value[1:], f"{before}@")
        return
    is_json = before.endswith(":=")
    for each in _values_in(schema):
        is_text = isinstance(each, str) and not is_json
        yield Candidate(before + (each if is_text else json.dumps(each)))


def _values_in(schema: Any) -> Iterator[Any]:
    if not isinstance(schema, Mapping):
        return
    if isinstance(schema.get("enum"), list):
        yield from schema["enum"]
    if "const" in schema:
        yield schema["const"]
    kinds = schema.get("type")
    if "boolean" in (kinds if isinstance(kinds, list) else [kinds]):
        yield from (True, False)
    for part in ("anyOf", "oneOf"):
        if isinstance(schema.get(part), list):
            for branch in schema[part]:
                if isinstance(branch, Mapping):  # without the values of branches inside it
                    names = branch.keys() & {"enum", "const", "type"}
                    yield from _values_in({name: branch[name] for name in names})
    items = schema.get("items")
    if isinstance(items, Mapping) and isinstance(items.get("enum"), list):
        yield from ([each] for each in items["enum"])
    if "default" in schema:
        yield schema["default"]


def _prompt_arguments(
    name: str, given: Sequence[str], word: str, known: Known
) -> Iterator[Candidate]:
    prompt = known.prompts.get(name)
    if prompt is None or "=" in word:  # only the server knows the values
        return
    taken = {each.partition("=")[0] for each in given}
    for argument in prompt.arguments:
        if argument.name not in taken:
            about = " ".join((argument.description or "").split())
            yield Candidate(f"{argument.name}=", about, is_whole=False)


# Other words


def _files(beginning: str, before: str) -> list[Candidate]:
    pattern = glob.escape(os.path.expanduser(beginning)) + "*"
    found = []
    for path in sorted(glob.iglob(pattern))[:_MAX_FILES]:
        is_folder = os.path.isdir(path)
        found.append(Candidate(before + path + (os.sep if is_folder else ""), "", not is_folder))
    return found


def _path_steps(word: str, result: Any) -> Iterator[Candidate]:
    before, dot, _ = word.rpartition(".")
    if result is None:
        return
    try:
        value = follow_path(result, parse_path(before)) if dot else None
    except UsageError:
        return
    for name in names_in(value) if dot else ():
        yield Candidate(f"{before}.{name}", "", is_whole=False)
    if not dot:
        yield Candidate("_", "the last result", is_whole=False)


# The words that may follow each command, with their descriptions.
_CHOOSERS: Mapping[str, Callable[[Known], Mapping[str, str] | Iterable[str]]] = {
    **dict.fromkeys(("call", "tool", "tools"), lambda known: _abouts(known.tools)),
    "prompt": lambda known: _abouts(known.prompts),
    "read": lambda known: known.resources,
    "listen": lambda known: [*known.resources],
    "use": lambda known: [*known.others],
    **dict.fromkeys(("cancel", "wait"), lambda known: known.jobs),
    "log": lambda known: (*LOG_LEVELS, "off"),
    "trace": lambda known: ("on", "off"),
    "help": lambda known: known.commands,
    "expect": lambda known: (*names_in(known.result), "not"),
}
