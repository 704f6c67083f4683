"""An entry with the values of its variables: the target and the options of `connect`.

If a variable is not set, a header or a variable of the server is left out rather than sent empty or
as ``${TOKEN}``; a word of a command becomes empty, unless a shell reads it; an entry whose program
or host depends on it is unusable."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import UsageError
from ..net.process.launch import SCRIPT_ENDINGS
from ..net.process.programs import HeadersFrom
from .entry import Entry, EntryError, Report
from .fields import SANDBOX_FIELDS
from .urls import canonical_url
from .variables import Variables, parse_dotenv


class IncompleteHeaders(dict[str, str]):
    """Headers of a configuration, and the variables for others of them that have no value."""

    def __init__(self, headers: Mapping[str, str], missing: Sequence[str]) -> None:
        super().__init__(headers)
        self.missing: tuple[str, ...] = tuple(missing)


class HeadersHelper(HeadersFrom):
    """The headers of an entry, some of them printed by its own program, as of `HeadersFrom`.

    ``line``: what a shell is to run, in the folder ``base``; it finds the name and the URL of its
    server in ``CLAUDE_CODE_MCP_SERVER_NAME`` and ``CLAUDE_CODE_MCP_SERVER_URL``. ``fixed``: the
    headers of the entry itself.
    """

    def __init__(
        self, line: str, name: str, url: str, base: str, fixed: Mapping[str, str] | None = None
    ) -> None:
        shell = ["cmd", "/d", "/s", "/c"] if os.name == "nt" else ["/bin/sh", "-c"]
        super().__init__([*shell, line])
        self.fixed: Mapping[str, str] = fixed or {}
        self._server, self._program = name, "its headersHelper"
        self._cwd = base
        self._env = {
            "CLAUDE_CODE_MCP_SERVER_NAME": name,
            "CLAUDE_CODE_MCP_SERVER_URL": url,
        }

    def for_url(self, url: str) -> HeadersFrom:
        """Return these headers: a shell reads the line, so no URL may be put into it."""
        return self


_PROGRAM_ENDINGS = (".exe", ".cmd", ".bat", ".ps1", ".com")
_SCRIPTS = {"npx-cli.js": "npx", "npm-cli.js": "npm", "pnpm.cjs": "pnpm", "yarn.js": "yarn"}
_SHELLS = frozenset(
    {
        *("sh", "ash", "bash", "busybox", "csh", "dash", "fish", "ksh", "mksh", "tcsh", "zsh"),
        *("cmd", "env", "eval", "powershell", "pwsh", "wsl"),
    }
)
_GIVE_INPUT = "it is asked for on a terminal; give a default, or inputs= in code"
_EXPLICITLY_RELATIVE = re.compile(r"\.{1,2}[/\\]")
_CONTROL = re.compile(r"[\x00\r\n]")


def written_target(entry: Entry) -> str | list[str]:
    """Return the target of an entry, without the values of its variables."""
    return entry.url if entry.url is not None else list(entry.command)


def resolve(
    entry: Entry,
    variables: Variables,
    base: str,
    read: Callable[[str], str],
    report: Report,
    authenticate: Callable[[Mapping[str, Any] | str, str, Callable[[str], str]], Any],
) -> tuple[str | list[str], dict[str, Any]]:
    """Return the target of an entry and its options. Warnings go to ``report``.

    ``base``: the folder where the relative paths of a file begin, or "" for an entry given in code,
    whose paths are the caller's. ``read``: as in `Variables`. ``authenticate``: makes a value of
    ``auth=`` from the field ``oauth``, its name, and a function that puts the values of variables
    in. Raises `EntryError`; exceptions of the caller's functions pass through.
    """
    resolver = _Resolver(entry, variables, base, read, report)
    options: dict[str, Any] = {
        name: value
        for name in ("timeout", "connect_timeout", "limits")
        if (value := getattr(entry, name)) is not None
    }
    if entry.url is None:
        return resolver.command(), {**options, **resolver.of_process()}
    url = resolver.url(entry.url)
    return url, {**options, **resolver.of_url(url, authenticate)}


@dataclass(repr=False)
class _Resolver:
    """An expander of variables that reports each field with a missing value once."""

    entry: Entry
    variables: Variables
    base: str
    read: Callable[[str], str]
    report: Report
    missing: list[str] = field(default_factory=list)  # variables that headers were to hold

    def _field(self, name: str) -> str:
        return self.entry.fields.get(name, name)

    def _text(self, text: str, *path: str | int, **choices: bool) -> str:
        expanded = self.variables.expand(text, **choices)
        self._tell(expanded.missing, "", *path)
        return expanded.text

    def _tell(self, missing: Sequence[str], consequence: str, *path: str | int) -> None:
        if missing:
            if path[0] == self._field("headers"):
                self.missing += [name for name in missing if name not in self.missing]
            named = ", ".join(dict.fromkeys(missing))
            hint = _GIVE_INPUT if "${input:" in named else "set it, or give a default"
            self.report(f"{named} has no value{consequence}", *path, hint=hint)

    def _mapping(self, texts: Mapping[str, str], field: str) -> dict[str, str]:
        """Return strings with values; one without a value, or with an invalid one, is left out."""
        found = {}
        for name, text in texts.items():
            expanded, path = self.variables.expand(text), (self._field(field), name)
            if expanded.missing or expanded.omitted:
                self._tell(expanded.missing, f", so {name} is left out", *path)
            elif field == "headers" and _CONTROL.search(expanded.text):
                message = f"its value holds the end of a line, so {name} is left out"
                self.report(message, *path, hint="does a variable end with one?")
            elif "\0" not in expanded.text:
                found[name] = expanded.text
                if field == "headers" and self.variables.holds_more(text):
                    hint = "write the value itself, or ${NAME} for the value of a variable"
                    self.report("it holds a placeholder, which is sent as it is", *path, hint=hint)
        return found

    def command(self) -> list[str]:
        """Return the command, word by word: values make no words and take none away.

        Where the process starts elsewhere than in the folder of its file, a program or a script
        with a relative path is still found there, not in the caller's working directory.
        """
        words: list[str] = []
        in_shell = False
        named = "args" if "args" in self.entry.fields else "command"
        for index, word in enumerate(self.entry.command):
            place = self._field(named if index else "command")
            several = self.variables.words(word) if index else None
            if several is not None:
                words += several
                continue
            words.append(self._text(word, place, is_path=True, keep_missing=in_shell))
            in_shell = in_shell or is_shell(word)
        if not words[0].strip() or "\0" in "".join(words):
            raise EntryError("with the values of its variables there is no program", "command")
        if self.entry.cwd or not self.base:
            return words
        return [_placed(word, self.base, index) for index, word in enumerate(words)]

    def of_process(self) -> dict[str, Any]:
        entry = self.entry
        options: dict[str, Any] = {}
        env = self._env_file(entry.env_file) if entry.env_file else {}
        env.update(self._mapping(entry.env, "env"))
        if env:
            options["env"] = env
        if entry.cwd:
            folder = self.variables.required(entry.cwd, self._field("cwd"))
            options["cwd"] = os.path.normpath(os.path.join(self.base, folder))
        if not SANDBOX_FIELDS.isdisjoint(entry.restrictions):
            from ..sandbox.rights import Sandbox, sandbox_in

            sandbox = Sandbox.of(sandbox_in(entry.restrictions))
            read, write = (
                tuple(self.variables.required(os.fspath(path), "sandbox") for path in paths)
                for paths in (sandbox.read, sandbox.write)
            )
            options["sandbox"] = replace(sandbox, read=read, write=write)
        return options

    def _env_file(self, name: str) -> dict[str, str]:
        place = self._field("env_file")
        path = self.variables.expand(name, is_path=True)
        if path.missing:  # the user has not agreed to another file
            self._tell(path.missing, ", so the file is not read", place)
            return {}
        try:
            found, wrong = parse_dotenv(self.read(os.path.join(self.base, path.text)))
        except OSError as error:
            self.report(f"it cannot be read: {error.strerror or 'unknown reason'}", place)
            return {}
        if wrong:
            self.report(f"line {wrong[0]} of the file is not NAME=value", place)
        return found

    def url(self, written: str) -> str:
        """Return the URL in the one spelling that is judged and connected to."""
        place = self._field("url")
        kept = self.variables.expand(written, keep_missing=True)
        authority = kept.text.partition("://")[2].partition("/")[0]
        if kept.missing and any(name in authority for name in kept.missing):
            raise EntryError(f"its host depends on {kept.missing[0]}, which has no value", place)
        url = self._text(written, place)
        try:
            return str(canonical_url(url))
        except UsageError as error:
            # The original message could contain the value of a variable.
            reason = str(error) if url == written else "it is not the URL of a server"
            raise EntryError(reason, place) from None

    def of_url(self, url: str, authenticate: Callable[..., Any]) -> dict[str, Any]:
        entry = self.entry
        options: dict[str, Any] = {}
        headers = self._mapping(entry.headers, "headers")
        if entry.headers_helper:
            line = self._text(
                entry.headers_helper, self._field("headers_helper"), keep_missing=True
            )
            options["headers"] = HeadersHelper(line, entry.name, url, self.base, headers)
        elif headers or self.missing:
            options["headers"] = IncompleteHeaders(headers, self.missing)
        if entry.transport is not None:
            options["transport"] = entry.transport
        if entry.oauth is not None:
            place = self._field("oauth")
            options["auth"] = authenticate(entry.oauth, place, lambda text: self._text(text, place))
        return options


def _placed(word: str, base: str, index: int) -> str:
    """Return a word of a command; the relative path of a program or a script begins at ``base``."""
    if os.path.isabs(word) or "://" in word:
        return word
    is_explicit = _EXPLICITLY_RELATIVE.match(word) is not None
    is_script = index > 0 and word.lower().endswith(SCRIPT_ENDINGS)
    if is_explicit or is_script or (index == 0 and os.path.dirname(word)):
        return os.path.join(base, re.sub(r"^(?:\.[/\\])+", "", word))
    return word


def is_shell(program: str) -> bool:
    """Whether a program reads a string as commands."""
    return base_name(program) in _SHELLS


def base_name(program: str) -> str:
    """Return a program's name without its folder and ending, in lower case."""
    name = os.path.basename(program.replace("\\", "/")).casefold()
    for ending in _PROGRAM_ENDINGS:
        name = name[: -len(ending)] if name.endswith(ending) else name
    return _SCRIPTS.get(name, name)
