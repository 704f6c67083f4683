"""The kinds of rules, and their syntax.

As text: ``name:github``, ``command:npx -y @corp/*``, ``url:https://*.corp.com/*``, and for parts
that may come with a command ``env:GRAFANA_*`` and ``cwd:/srv/*``. As the settings of Claude Code
have them: ``{"serverName": …}``, ``{"serverCommand": […]}``, ``{"serverUrl": …}``.

A rule in an allow list matches strictly: its own spelling only. In a deny list it matches
generously: other spellings as well.
"""

from __future__ import annotations

import os
import re
import shlex
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Union

from ...entries.resolve import base_name, is_shell
from ...entries.urls import (
    CanonicalUrl,
    ascii_host,
    canonical_host,
    is_plain_segment,
    readings_of,
    segments_of,
)
from ...errors import UsageError
from .commands import Word, commands_inside, names_package, package_words, runners_in, spellings

# Flags that do not change the program that runs.
_CONSENT = {"--yes": "-y", "--quiet": "-q", "--silent": "-q"}
# Strings that a wildcard must not match: the parent folder, and another package's name.
_ESCAPE = re.compile(
    r"(?:^|[/\\=:])\.\.(?:[/\\:]|$)|@(?:npm|file|git|github|https?|link)[:+]|^git\+"
)

# A word without any meaning to a shell.
_PLAIN = re.compile(r"[\w@./+:=,-]+", re.ASCII)

_URL_RULE = re.compile(
    r"(?P<scheme>[A-Za-z*][A-Za-z0-9+.*-]*)://(?P<host>\[[0-9A-Fa-f:.]+\]|[^/:?#@\[\]]*)"
    r"(?::(?P<port>[0-9]{1,5}|\*))?(?P<path>/[^?#]*)?"
)


@dataclass(frozen=True)
class _PatternRule:
    """A rule that is one pattern, in which ``*`` stands for any characters."""

    pattern: str
    kind: ClassVar[str]
    _needs: ClassVar[str]
    _is_valid: ClassVar[Any]  # a function of the pattern

    def __post_init__(self) -> None:
        if not self._is_valid(self.pattern):
            raise UsageError(f"a rule about {self._needs}")

    def __str__(self) -> str:
        return f"{self.kind}:{self.pattern}"

    def matches(self, text: str, *, generous: bool) -> bool:
        """Return whether the rule is about this name, or about this folder by its real path."""
        if generous:
            return _matches(_folded(self.pattern), _folded(text))
        return _matches(self.pattern, text)


class NameRule(_PatternRule):
    """Servers by the name they are configured under; ``*`` stands for any characters.

    In a deny list upper and lower case are the same, as are other forms of one letter.
    """

    kind: ClassVar[str] = "name"
    _needs = "names needs a name"
    _is_valid = staticmethod(str.strip)


class EnvRule(_PatternRule):
    """An environment variable by its name; ``*`` stands for any characters.

    In an allow list it lets a server set the variable beside a command that another rule allows; in
    a deny list a server that sets it is denied.
    """

    kind: ClassVar[str] = "env"
    _needs = "the environment needs the name of a variable"
    _is_valid = staticmethod(re.compile(r"[\w*]+").fullmatch)


class CwdRule(_PatternRule):
    """The folder in which a command starts, links followed; ``*`` stands for any characters.

    In an allow list it lets a server name the folder beside a command that another rule allows; in
    a deny list a server that names it is denied.
    """

    kind: ClassVar[str] = "cwd"
    _needs = "folders needs an absolute path"
    _is_valid = staticmethod(os.path.isabs)


@dataclass(frozen=True)
class CommandRule:
    """Servers by their command, element by element.

    ``*`` inside an element stands for any characters in it; an element that is ``*`` stands for
    exactly one element, one that is ``**`` for any number. With ``exact`` nothing is a wildcard.
    After ``npx``, ``uvx`` and the like a wildcard stands for the name of a package and a version or
    tag, never for an option, a path or a URL; after the package it is an ordinary wildcard.

    In a deny list the rest of the command does not matter, further elements may stand between the
    rule's own, and a program is known by every path and link that leads to it. A package denied to
    one package runner is denied to all of its registry, and a rule about ``npx`` or ``uvx`` alone
    denies every one.
    """

    elements: tuple[str, ...]
    exact: bool = False

    def __post_init__(self) -> None:
        if not self.elements or not all(isinstance(each, str) for each in self.elements):
            raise UsageError("a rule about commands needs a command, a list of strings")
        if not self.elements[0]:
            raise UsageError("a rule about commands begins with the name of a program")

    def __str__(self) -> str:
        words = (
            each if re.fullmatch(r"[\w@%+=:,./*-]+", each) else shlex.quote(each)
            for each in self.elements
        )
        return "command:" + " ".join(words)

    def allows(self, command: Sequence[str], links: Callable[[str], Sequence[str]]) -> bool:
        """Return whether the rule allows this whole command, exactly as it is."""
        if self.exact:
            return tuple(command) == self.elements
        if not self._matches_all(tuple(command)):
            return False
        # Below a folder that is allowed, a link must not lead out of it.
        program = self.elements[0]
        if "*" not in program or program in ("*", "**") or not re.search(r"[/\\]", command[0]):
            return True
        return all(_matches(program, path) for path in links(command[0])[-1:])

    def denies(self, command: Sequence[str], links: Callable[[str], Sequence[str]]) -> bool:
        """Return whether this command may start a command that the rule denies."""
        rules = [self]
        if not self.exact:
            inner = [
                (name, self.elements[position:]) for name, position in runners_in(self.elements)
            ]
            rules += [CommandRule((name, *rest)) for name, rest in inner if rest]
        return any(
            rule._denies(inner, links) for inner in commands_inside(command) for rule in rules
        )

    def _denies(self, command: tuple[Word, ...], links: Callable[[str], Sequence[str]]) -> bool:
        if self.exact:
            return len(command) == len(self.elements) and all(
                _denied(_CONSENT.get(mine, mine), _CONSENT.get(other or "", other), index, links)
                for index, (mine, other) in enumerate(zip(self.elements, command))
            )
        program, *rest = self.elements
        if not _denied(program, command[0], 0, links):
            return False
        dropped = {"*", "**", *_CONSENT, *_CONSENT.values()}
        others = iter(command[1:])
        return all(
            any(_denied(mine, other, 1, links) for other in others)
            for mine in rest
            if mine not in dropped
        )

    def _matches_all(self, command: tuple[str, ...], *, in_text: bool = False) -> bool:
        """Return whether all words match; ``in_text``: of a script for a shell."""
        elements = self.elements
        packages = package_words(elements)
        shells = [index for index, element in enumerate(elements) if is_shell(element)]

        def is_meant(index: int, word: str) -> bool:
            element = elements[index]
            is_any = element in ("*", "**")
            if not is_any and (not _matches(element, word) or _ESCAPE.search(word)):
                return False
            if index in packages and not names_package(element, word):
                return False
            if in_text:
                return bool(_PLAIN.fullmatch(word))
            return not shells or index <= shells[0] or self._is_safe_text(index, word)

        reached = {0}  # possible numbers of elements matched so far
        for word in command:
            reached = {
                index if elements[index] == "**" else index + 1
                for index in _skipping(elements, reached)
                if index < len(elements) and (elements[index] == word or is_meant(index, word))
            }
        return len(elements) in _skipping(elements, reached)

    def _is_safe_text(self, index: int, word: str) -> bool:
        """Return whether a word after a shell is a script of the element's command only."""
        element, before = self.elements[index], self.elements[index - 1]
        if element in ("*", "**") and (is_shell(before) or before[:1] == "-"):
            return True
        if " " in element.strip():
            texts = CommandRule(tuple(element.strip().split(" ")))
            return texts._matches_all(tuple(word.strip(" ").split(" ")), in_text=True)
        # Unlike shells, env passes its words on unchanged.
        shells = [base_name(each) for each in self.elements[:index] if is_shell(each)]
        return set(shells) == {"env"} or bool(_PLAIN.fullmatch(word))


@dataclass(frozen=True)
class UrlRule:
    """Servers by the parts of their URL.

    ``scheme`` may hold ``*``. ``host``: ``*`` is any host, ``*.corp.com`` any name below it, and a
    ``*`` elsewhere stays within its label. ``port``: None is the scheme's usual one (in a deny
    list any), ``"*"`` is any. ``path``: None is any; a ``*`` stays within its segment, but a final
    ``/*`` is everything below.
    """

    scheme: str
    host: str
    port: int | str | None = None
    path: str | None = None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port is None else f":{self.port}"
        return f"url:{self.scheme}://{host}{port}{self.path or ''}"

    def matches(self, url: CanonicalUrl, *, generous: bool) -> bool:
        """Return whether the rule is about a server at this URL."""
        schemes = {url.scheme}
        if generous:  # a WebSocket is opened by a request over HTTP
            schemes.add({"ws": "http", "wss": "https"}.get(url.scheme, url.scheme))
        if self.port is None:
            has_port = generous or url.has_usual_port
        else:
            has_port = self.port in ("*", url.port)
        return (
            any(_matches(self.scheme, scheme) for scheme in schemes)
            and self._matches_host(url.host)
            and has_port
            and self._matches_path(url.path, generous)
        )

    def _matches_host(self, host: str) -> bool:
        if self.host == "*":
            return True
        if ":" in host or ":" in self.host:
            return host == self.host
        labels, others = self.host.split("."), host.split(".")
        if labels[0] == "*" and len(others) > len(labels):
            others = others[len(others) - len(labels) :]
        return len(labels) == len(others) and all(map(_matches, labels, others))

    def _matches_path(self, path: str, generous: bool) -> bool:
        if self.path is None:
            return True
        if generous:
            return any(self._matches_segments(each, generous=True) for each in readings_of(path))
        mine, last = self.path.split("/"), path.count("/")
        is_plain = self.path == "/*" or all(
            segment in mine[index : index + 1]
            or is_plain_segment(segment)
            or (index == last and not segment)
            for index, segment in enumerate(path.split("/")[1:], 1)
        )
        return is_plain and self._matches_segments(segments_of(path))

    def _matches_segments(self, segments: list[str], *, generous: bool = False) -> bool:
        mine = segments_of(self.path or "")
        if generous:
            mine = [segment.casefold() for segment in mine]
            segments = [segment.casefold() for segment in segments]
        if mine[-1] == "*" and len(mine) > 1:
            mine = mine[:-1]
            if len(segments) > len(mine) or (generous and len(segments) == len(mine)):
                segments = segments[: len(mine)]
            else:
                return False
        return len(mine) == len(segments) and all(map(_matches, mine, segments))


Rule = Union[NameRule, CommandRule, UrlRule, EnvRule, CwdRule]


def read_rule(rule: Rule | str | Mapping[str, Any]) -> Rule:
    """Return a rule as one of the classes. Raises `UsageError` for anything that is not a rule."""
    if isinstance(rule, (NameRule, CommandRule, UrlRule, EnvRule, CwdRule)):
        return rule
    if isinstance(rule, str):
        kind, _, text = rule.partition(":")
        reader = _KINDS.get(kind)
        if reader is None:
            raise UsageError(
                f"a rule begins with name:, command:, url:, env: or cwd:, not {rule!r}"
            )
        return reader(text.strip())
    if isinstance(rule, Mapping) and len(rule) == 1:
        ((key, value),) = rule.items()
        if key == "serverName" and isinstance(value, str) and re.fullmatch(r"[\w-]+", value):
            return NameRule(value)
        if key == "serverCommand" and isinstance(value, (list, tuple)):
            return CommandRule(tuple(value), exact=True)
        if key == "serverUrl" and isinstance(value, str):
            return _url_rule(value)
    raise UsageError(
        "a rule must be a string, or have exactly one of serverName (letters, digits, _ and -), "
        f"serverCommand (a list of strings) and serverUrl: {rule!r}"
    )


def _command_rule(text: str) -> CommandRule:
    try:
        return CommandRule(tuple(shlex.split(text)))
    except ValueError as error:
        raise UsageError(f"not a command: {text!r}: {error}") from None


def _url_rule(text: str) -> UrlRule:
    match = _URL_RULE.fullmatch(text)
    if match is None or not match["host"] or "\\" in text or re.search(r"[\s\x00-\x20]", text):
        raise UsageError(f"a rule about URLs is like https://*.corp.com/*, not {text!r}")
    host = match["host"].strip("[]")
    host = ascii_host(host.rstrip(".")) if "*" in host else canonical_host(host)
    port = int(match["port"]) if (match["port"] or "*") != "*" else match["port"]
    if isinstance(port, int) and not 0 < port < 65536:
        raise UsageError(f"port {port} is out of range: {text!r}")
    return UrlRule(match["scheme"].lower(), host, port, match["path"])


_KINDS: dict[str, Callable[[str], Rule]] = {
    "name": NameRule,
    "command": _command_rule,
    "url": _url_rule,
    "env": EnvRule,
    "cwd": CwdRule,
}


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold().strip()


def _matches(pattern: str, text: str) -> bool:
    """Return whether a string matches a pattern in which only ``*`` is special, in linear time."""
    first, *rest = pattern.split("*")
    if not rest:
        return pattern == text
    *middle, last = rest
    if not text.startswith(first) or not text.endswith(last) or len(text) < len(first) + len(last):
        return False
    position, end = len(first), len(text) - len(last)
    for part in middle:
        position = text.find(part, position, end)
        if position < 0:
            return False
        position += len(part)
    return True


def _skipping(elements: tuple[str, ...], reached: set[int]) -> set[int]:
    found = set(reached)
    for index in range(len(elements)):
        if index in found and elements[index] == "**":
            found.add(index + 1)
    return found


def _denied(element: str, word: Word, index: int, links: Callable[[str], Sequence[str]]) -> bool:
    if word is None:
        return True
    mine = spellings(element, is_program=True, links=links) if index == 0 else {element.casefold()}
    others = spellings(word, is_program=index == 0, links=links)
    return any(_matches(pattern, other) for pattern in mine for other in others)
